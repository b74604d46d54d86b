#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What configuring needs and decides, in build folders of its own: what a packager gets who calls cmake
# without a preset, and what is left where Check is missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/scripts_common.bash
source "$(dirname -- "$0")/../scripts/scripts_common.bash"
unset MPLACE_BUILD

# A pkg-config that knows everything but Check, and notes when it is asked for it.
without_check()
{
    local real

    real=$(command -v pkg-config) || skip "no pkg-config"
    cat >pkg-config <<END
#!/bin/sh
for word; do
    case \$word in check | check[\ \<\>=]*) echo asked >>'$scratch/asked'; exit 1 ;; esac
done
exec '$real' "\$@"
END
    chmod +x pkg-config
}

# configure FOLDER ARGUMENT...: into that folder, with the pkg-config of without_check if there is one.
configure()
{
    local folder=$1 more=()
    shift

    [[ ! -x pkg-config ]] || more=("-DPKG_CONFIG_EXECUTABLE=$scratch/pkg-config")
    run cmake -S "$source_folder" -B "$scratch/$folder" "${more[@]}" "$@"
    expect "exit status of cmake $*" 0 "$status"
}

# In the folder "plain": all that is shipped and measured.
build_without_tests()
{
    run cmake --build plain --parallel 2 --target cia_malloc rand_malloc tts_lock ttstle_lock ring avltree malloc_bench
    expect "exit status of the build" 0 "$status"
    run plain/bin/ring --size 64 --traversals 10 --csv
    expect "exit status of the ring" 0 "$status"
    run ctest --test-dir plain -N
    grep -q '^Total Tests: 0$' out || fail "there are tests: $(tail -n 1 out)"
}

without_check_libraries_and_benchmarks_build_and_one_line_says_that_the_tests_are_off()
{
    without_check
    configure plain
    [[ -s asked ]] || fail "Check was not looked for"
    expect "lines about the tests" 1 "$(cat out err | grep -c 'no tests: ' || true)"
    grep -q 'no tests: .* Debian package check' out err || fail "the line does not name the package"
    build_without_tests
}

with_tests_off_check_is_not_looked_for()
{
    without_check
    configure plain -DBUILD_TESTING=OFF
    [[ ! -e asked ]] || fail "Check was looked for"
    ! grep -q 'no tests: ' out err || fail "that there are no tests was asked for, and is told"
    build_without_tests
}

# reproduce.sh may have configured the tree when there was none.
a_compiler_of_cxx_that_was_installed_later_is_found()
{
    command -v c++ >/dev/null || skip "no compiler of C++"
    pkg-config --exists check || skip "Check is not installed"
    configure plain -DCMAKE_CXX_COMPILER=NOTFOUND
    grep '^CMAKE_CXX_COMPILER:' plain/CMakeCache.txt >found || true
    grep -q 'c++$\|g++$' found || fail "the tests in C++ are left out: $(cat found)"
}

# A newer compiler has newer warnings: they must not stop those who only want to build.
warnings_are_errors_with_the_presets_and_not_without()
{
    local preset

    configure plain -DBUILD_TESTING=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    expect "commands with -Werror without a preset" 0 "$(grep -c -e '-Werror' plain/compile_commands.json || true)"
    for preset in release asan tsan; do
        (cd -- "$source_folder" && cmake --preset $preset -B "$scratch/$preset" -DBUILD_TESTING=OFF \
            -DCMAKE_EXPORT_COMPILE_COMMANDS=ON) >out 2>err || fail "the preset $preset cannot be configured"
        expect "commands without -Werror with the preset $preset" 0 \
            "$(grep '"command"' $preset/compile_commands.json | grep -vc -e '-Werror' || true)"
    done
}

clang_builds_the_libraries()
{
    { command -v clang && command -v clang++; } >/dev/null || skip "no clang"
    configure clang -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug \
        -DBUILD_TESTING=OFF
    run cmake --build clang --parallel 2 --target cia_malloc rand_malloc bank_malloc tm_runtime tts_lock ttstle_lock \
        mplace_persist
    expect "exit status of the build" 0 "$status"
}

# As distributions build their packages.
link_time_optimisation_builds_a_program_with_transactions()
{
    configure lto '-DCMAKE_C_FLAGS=-O2 -flto' -DBUILD_TESTING=OFF
    grep -q 'HAVE_GNU_TM:INTERNAL=1' lto/CMakeCache.txt || skip "no -fgnu-tm"
    run cmake --build lto --parallel 2 --target cache_server-ip-lib
    expect "exit status of the build" 0 "$status"
}

run_claim
