# One .deb with everything: "cpack" in the build folder, or the target "package".
set(MPLACE_MAINTAINER "mplace authors <mplace@localhost>" CACHE STRING "Who answers for the package: Name <address>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mplace)
set(CPACK_PACKAGE_VENDOR "mplace authors")
set(CPACK_PACKAGE_CONTACT "${MPLACE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "preloaded allocators and locks that mind cache sets, and their measurement")
set(CPACK_PACKAGE_DESCRIPTION
"An allocator that hands out equal blocks a power of two apart puts their
first lines into a few sets of the first-level cache. Linked structures of
them then miss in every step, and hardware transactions that write to them
never commit. This package has libraries that cure it in unmodified programs:
an index-aware allocator, a jitter over any other allocator, and pthread
mutexes that spin or are elided in hardware transactions (Intel RTM).
.
The command mplace runs programs under them, measures, draws the result, and
emulates transactions where the processor has none.")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${MPLACE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# What the programs are linked with; the scripts need nothing beyond Debian's essential packages to run
# a program, and what a sweep and its figures need comes with it unless it is declined.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(mplace_recommends "python3 (>= 3.11), parallel, datamash, gnuplot-nox | gnuplot, fonts-dejavu-core")
# The emulator has a core of the Valgrind that it was built with inside, and works with no other.
if(TARGET rtmgrind)
    execute_process(COMMAND dpkg-query --show --showformat "\${source:Upstream-Version}|\${Version}" valgrind
                    OUTPUT_VARIABLE valgrind_package ERROR_QUIET)
    if(valgrind_package MATCHES "^([0-9.]+)\\|(([0-9]+:)?)")
        set(valgrind_upstream "${CMAKE_MATCH_2}${CMAKE_MATCH_1}")
        string(APPEND mplace_recommends ", valgrind (>= ${valgrind_upstream}), valgrind (<< ${valgrind_upstream}.0)")
    endif()
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "${mplace_recommends}")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libjemalloc2, libmimalloc2.0 | libmimalloc3, \
libtcmalloc-minimal4 | libtcmalloc-minimal4t64, libtbbmalloc2, binutils, libcap2-bin, openssh-client, rsync, bash-completion, man-db")

# The changelog belongs to the package alone.
find_program(MPLACE_GZIP gzip)
if(MPLACE_GZIP)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/changelog.gz
        COMMAND ${MPLACE_GZIP} -9nc ${CMAKE_CURRENT_LIST_DIR}/debian/changelog > ${CMAKE_BINARY_DIR}/changelog.gz
        DEPENDS ${CMAKE_CURRENT_LIST_DIR}/debian/changelog VERBATIM)
    add_custom_target(debian_changelog ALL DEPENDS ${CMAKE_BINARY_DIR}/changelog.gz)
    install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
include(CPack)
