#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs that link a library instead of having it preloaded, built by a project outside of the tree
# (linked/) against an installation. That the library serves is what the programs say of themselves.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/scripts_common.bash
source "$(dirname -- "$0")/../scripts/scripts_common.bash"
# shellcheck source-path=SCRIPTDIR source=install_common.bash
source "$(dirname -- "$0")/install_common.bash"
unset MPLACE_BUILD

sources=$source_folder/tests/install/linked

# said WHAT TEXT COMMAND...: the command ends well and says that.
said()
{
    local what=$1 text=$2

    shift 2
    run "$@"
    expect "exit status of $what" 0 "$status"
    expect "$what" "$text" "$(cat "$scratch/out")"
    [[ ! -s $scratch/err ]] || fail "$what says something on standard error"
}

# What each program of the project says, in the folder FOLDER.
programs_are_served()
{
    said "the allocator" "cia served 1000, child 3, early before main, dlsym finds it, mine 0" "$1/allocator"
    said "the banks" "bank of 8 banks, a block is served" env BANK_MAP=tilepro64 BANK_PHYSICAL=simulated "$1/banks"
    said "the jitter" "rand jitters" "$1/jitter"
    said "the lock" "tts 0 acquisitions 500
errors 0" "$1/tts"
    said "the eliding lock" "ttstle 0 acquisitions 500
errors 0" "$1/ttstle"
    said "allocator and lock" "cia 1 ttstle opens" "$1/both"
    said "the regions" "7 after 1 recovered" "$1/region" "$scratch/file.region"
    rm -- "$scratch/file.region"
}

# linked NAME SOURCE LIBRARY... [-- FLAG...]: a program by what pkg-config says.
linked()
{
    local name=$1 source=$2 libraries_of=() flags

    shift 2
    while [[ $# -gt 0 && $1 != -- ]]; do
        libraries_of+=("mplace-$1")
        shift
    done
    # The folder has a blank in its name, which pkg-config writes with a backslash.
    eval "flags=($(pkg-config --cflags --libs "${libraries_of[@]}"))"
    gcc -Wall -Wextra -Werror -fno-builtin -o "$name" "$sources/$source.c" "${@:2}" "${flags[@]}" >"$scratch/out" 2>"$scratch/err" ||
        fail "$name does not link"
}

a_cmake_project_links_each_library_and_is_served_without_preload()
{
    install_tree
    run cmake -S "$sources" -B project -DCMAKE_PREFIX_PATH="$root/usr" -DCMAKE_BUILD_TYPE=Release
    expect "exit status of configuring" 0 "$status"
    run cmake --build project --parallel 2
    expect "exit status of building" 0 "$status"
    programs_are_served project
    said "the one without a library" "not loaded" project/neither
    said "the one with a preloaded library" "loaded" env LD_LIBRARY_PATH="$libraries" LD_PRELOAD=libcia_malloc.so project/neither
}

pkg_config_links_each_library_and_it_serves_without_preload()
{
    type -P pkg-config >/dev/null || skip "pkg-config is not installed"
    install_tree
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    linked allocator allocator cia_malloc
    linked banks banks bank_malloc
    linked jitter jitter rand_malloc
    linked tts lock tts_lock
    linked ttstle lock ttstle_lock
    linked both both cia_malloc ttstle_lock
    linked region region mplace_persist
    programs_are_served .
    # Fixed addresses, and unused sections left out.
    linked allocator allocator cia_malloc -- -no-pie -Wl,--gc-sections
    programs_are_served .
}

the_shared_libraries_link_by_their_names_and_serve_without_preload()
{
    install_tree
    gcc -Wall -Werror -fno-builtin -I"$root/usr/include" -o allocator "$sources/allocator.c" -L"$libraries" \
        -Wl,--no-as-needed -lcia_malloc 2>"$scratch/err" || fail "it does not link"
    export LD_LIBRARY_PATH=$libraries
    said "the allocator" "cia served 1000, child 3, early before main, dlsym finds it, mine 0" ./allocator
    gcc -Wall -Werror -I"$root/usr/include" -o lock "$sources/lock.c" -L"$libraries" -lttstle_lock 2>"$scratch/err" ||
        fail "it does not link"
    said "the lock" "ttstle 0 acquisitions 500
errors 0" ./lock
    gcc -Wall -Werror -I"$root/usr/include" -o region "$sources/region.c" -L"$libraries" -lmplace_persist 2>"$scratch/err" ||
        fail "it does not link"
    said "the regions" "7 after 1 recovered" ./region file.region
}

an_archive_defines_what_the_shared_library_exports_and_nothing_else()
{
    local name

    install_tree
    for name in bank_malloc cia_malloc mplace_persist rand_malloc tts_lock ttstle_lock; do
        diff <(nm -D --defined-only "$libraries/lib$name.so" | awk '{ print $3 }' | LC_ALL=C sort) \
            <(nm -g --defined-only "$libraries/lib$name.a" | awk 'NF == 3 && $3 != "_.stapsdt.base" { print $3 }' | LC_ALL=C sort) >&2 ||
            fail "lib$name.a has other names than lib$name.so"
    done
}

# A static program has no dynamic linker, which the others ask for what lies behind them.
in_a_static_program_the_allocators_serve_and_the_others_say_that_they_cannot()
{
    type -P pkg-config >/dev/null || skip "pkg-config is not installed"
    [[ -f $(gcc -print-file-name=libc.a) ]] || skip "there is no static C library"
    install_tree
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    linked allocator allocator cia_malloc -- -static
    [[ $(readelf -lW allocator) != *INTERP* ]] || fail "the program is not static"
    said "the allocator" "cia served 1000, child 3, early before main, dlsym does not, mine 0" ./allocator
    linked banks banks bank_malloc -- -static
    said "the banks" "bank of 8 banks, a block is served" env BANK_MAP=tilepro64 BANK_PHYSICAL=simulated ./banks
    linked jitter jitter rand_malloc -- -static
    run ./jitter
    expect "exit status of the jitter" 134 "$status"
    expect "what it says" "mplace: librand_malloc.so finds no allocator behind it" "$(cat "$scratch/err")"
    # One that waits for no condition: with those it does not even link.
    printf '#include <pthread.h>\nint main(void) { static pthread_mutex_t m; return pthread_mutex_lock(&m); }\n' >plain.c
    sources=$scratch
    # From glibc 2.41 on that one does not, either.
    libc=$(getconf GNU_LIBC_VERSION)
    if [[ ${libc#glibc 2.} -ge 41 ]]; then
        ! (linked plain plain tts_lock -- -static) 2>/dev/null || fail "plain links"
        grep -q 'multiple definition of .__pthread_mutex_unlock' "$scratch/err" || fail "another reason not to link"
        return
    fi
    linked plain plain tts_lock -- -static
    run ./plain
    grep -q '^mplace: the lock library finds no libc behind it, as in a static program: ' "$scratch/err" ||
        fail "the lock library says nothing"
}

run_claim
