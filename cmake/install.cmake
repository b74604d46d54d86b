# What is installed beside what each folder installs itself: documents, pkg-config, licences; and the
# way back, the target "uninstall".
include(GNUInstallDirs)

# umask of whoever installs is no part of the package.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# Which folders an installation makes is known only before it makes them, so this comes first: the
# caller includes this file before any install() of its own.
set(mplace_install_folders
    ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_LIBDIR}/mplace
    ${CMAKE_INSTALL_LIBDIR}/mplace/valgrind ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    ${CMAKE_INSTALL_LIBDIR}/cmake ${CMAKE_INSTALL_LIBDIR}/cmake/mplace
    ${CMAKE_INSTALL_LIBDIR}/mplace/report ${CMAKE_INSTALL_LIBDIR}/mplace/report/banks
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/claims
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/coherence ${CMAKE_INSTALL_LIBDIR}/mplace/report/compare
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/doctor ${CMAKE_INSTALL_LIBDIR}/mplace/report/evidence
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/legacy ${CMAKE_INSTALL_LIBDIR}/mplace/report/persistence
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/plot ${CMAKE_INSTALL_LIBDIR}/mplace/report/plot/figures
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/profiles
    ${CMAKE_INSTALL_LIBDIR}/mplace/report/sections ${CMAKE_INSTALL_LIBDIR}/mplace/report/sharing
    ${CMAKE_INSTALL_LIBDIR}/mplace/common ${CMAKE_INSTALL_LIBDIR}/mplace/completion
    ${CMAKE_INSTALL_LIBDIR}/mplace/programs ${CMAKE_INSTALL_LIBDIR}/mplace/machines
    ${CMAKE_INSTALL_LIBDIR}/mplace/machines/parts
    ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_MANDIR} ${CMAKE_INSTALL_MANDIR}/man1
    ${CMAKE_INSTALL_MANDIR}/man7 ${CMAKE_INSTALL_DOCDIR} ${CMAKE_INSTALL_DOCDIR}/docs
    ${CMAKE_INSTALL_DOCDIR}/docs/figures ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
configure_file(${CMAKE_CURRENT_LIST_DIR}/before_install.cmake.in ${CMAKE_BINARY_DIR}/before_install.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/before_install.cmake)

configure_file(${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake.in ${CMAKE_BINARY_DIR}/uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${CMAKE_BINARY_DIR}/uninstall.cmake
                  COMMENT "Removing what the last installation from this build folder installed")

# The .pc file finds the prefix from its own place, so that a tree may be moved, or packed under another
# prefix than it was configured with.
file(RELATIVE_PATH mplace_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" mplace_pc_to_prefix "${mplace_pc_to_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/mplace.pc.in ${CMAKE_BINARY_DIR}/mplace.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/mplace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The benchmarks are commands too; the scripts look for them among the parts.
file(RELATIVE_PATH mplace_bin_to_parts ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/mplace)
string(REGEX REPLACE "/$" "" mplace_bin_to_parts "${mplace_bin_to_parts}")
foreach(benchmark ring avltree)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/links)
    file(CREATE_LINK ${mplace_bin_to_parts}/${benchmark} ${CMAKE_BINARY_DIR}/links/${benchmark} SYMBOLIC)
    install(FILES ${CMAKE_BINARY_DIR}/links/${benchmark} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()

install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING
        PATTERN "*.md" PATTERN "*.svg" PATTERN "*.tar.xz" PATTERN "*.csv" PATTERN "man" EXCLUDE)
install(FILES cmake/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
