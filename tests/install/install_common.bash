# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What the tests of an installation share; sourced after scripts_common.bash. The build folder's list of what
# was installed last is one file, so only one of these tests runs at a time (see CMakeLists.txt).
# shellcheck disable=SC2034,SC2154 # the tests read what is set here; the other file sets what is read

root=$scratch/root

# Into $root/usr, as a package would be made.
install_tree()
{
    DESTDIR=$root cmake --install "$build_folder" --prefix /usr >"$scratch/out" 2>"$scratch/err" ||
        fail "cmake --install failed"
    parts=$(dirname -- "$(dirname -- "$(find "$root" -path '*/common/mplace.bash')")")
    libraries=$(dirname -- "$parts")
    mplace=$root/usr/bin/mplace
}
