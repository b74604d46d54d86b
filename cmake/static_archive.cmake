# Static archives of the preload libraries, for programs that link them. Each is one object, so that any
# reference brings all of it (no --whole-archive), with all names that the shared library does not export made
# local: a program may have a function "report_open" of its own. What both an allocator and a lock library
# define, dlopen, is weak: a program may link one of each.

# mplace_static_archive(NAME SYMBOL EXPORTED... [OBJECTS TARGET...] [FLAGS FLAG...]): libNAME.a from the objects
# of the library NAME and of those targets. SYMBOL is what a program refers to in order to get it, EXPORTED what
# it shows to dlsym. Notes the flags for pkg-config and CMake; mplace_install_archives installs all of it.
function(mplace_static_archive name symbol)
    cmake_parse_arguments(PARSE_ARGV 2 archive "" "" "OBJECTS;FLAGS")
    set(objects $<TARGET_OBJECTS:${name}>)
    foreach(target ${archive_OBJECTS})
        list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endforeach()
    set(whole ${CMAKE_BINARY_DIR}/obj/${name}.o)
    set(file ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lib${name}.a)
    add_custom_command(OUTPUT ${file}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${whole} ${objects} $<TARGET_FILE:mplace_base>
        COMMAND ${CMAKE_OBJCOPY} --strip-debug --localize-hidden --weaken-symbol=dlopen --weaken-symbol=dlmopen ${whole}
        # What tracepoints count their addresses from: a program has one such section, of whoever is linked first.
        COMMAND ${CMAKE_OBJCOPY} --globalize-symbol=_.stapsdt.base ${whole}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${file}
        COMMAND ${CMAKE_AR} rcD ${file} ${whole}
        COMMAND ${CMAKE_RANLIB} -D ${file}
        DEPENDS ${name} mplace_base ${objects} COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name}_archive ALL DEPENDS ${file})

    # Shared libraries may call it though the program does not; and what mplace.h declares is found by dlsym,
    # as where the library is preloaded.
    set(flags -Wl,-u,${symbol})
    foreach(exported ${archive_UNPARSED_ARGUMENTS})
        list(APPEND flags -Wl,--export-dynamic-symbol=${exported})
    endforeach()
    list(APPEND flags ${archive_FLAGS})
    string(REPLACE ";" " " MPLACE_ARCHIVE_FLAGS "${flags}")
    set(MPLACE_ARCHIVE ${name})
    configure_file(${CMAKE_SOURCE_DIR}/cmake/archive.pc.in ${CMAKE_BINARY_DIR}/mplace-${name}.pc @ONLY)
    set_property(GLOBAL APPEND PROPERTY mplace_archives ${name})
    set_property(GLOBAL PROPERTY mplace_archive_flags_${name} "${flags}")
endfunction()

function(mplace_install_archives)
    include(CMakePackageConfigHelpers)
    get_property(names GLOBAL PROPERTY mplace_archives)
    set(MPLACE_TARGETS "")
    foreach(name ${names})
        get_property(flags GLOBAL PROPERTY mplace_archive_flags_${name})
        string(APPEND MPLACE_TARGETS "mplace_archive(${name} \"${flags}\")\n")
        install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/lib${name}.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
        install(FILES ${CMAKE_BINARY_DIR}/mplace-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
    configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/mplaceConfig.cmake.in ${CMAKE_BINARY_DIR}/mplaceConfig.cmake
        INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mplace
        PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/mplaceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/mplaceConfig.cmake ${CMAKE_BINARY_DIR}/mplaceConfigVersion.cmake
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mplace)
endfunction()
