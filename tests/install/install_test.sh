#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "cmake --install", the target "uninstall" and the package promise.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/scripts_common.bash
source "$(dirname -- "$0")/../scripts/scripts_common.bash"
# shellcheck source-path=SCRIPTDIR source=install_common.bash
source "$(dirname -- "$0")/install_common.bash"
unset MPLACE_BUILD

# Every file and link below a folder, by its path from there.
contents()
{
    (cd -- "$1" && find . ! -type d | LC_ALL=C sort)
}

emulator_is_built()
{
    [[ -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]]
}

the_installed_files_are_the_expected_ones_and_no_others()
{
    local name wanted unknown

    install_tree
    contents "$root/usr" >"$scratch/files"
    sed "s|^\./${libraries#"$root/usr/"}/|./LIB/|" "$scratch/files" >"$scratch/generic"
    wanted='./bin/mplace ./bin/ring ./bin/avltree ./include/mplace.h ./include/mplace_bank.h ./include/mplace_persist.h ./include/mplace_trace.h ./LIB/pkgconfig/mplace.pc
        ./LIB/cmake/mplace/mplaceConfig.cmake ./LIB/cmake/mplace/mplaceConfigVersion.cmake
        ./LIB/libbank_malloc.so ./LIB/libcia_malloc.so ./LIB/libmplace_persist.so ./LIB/librand_malloc.so ./LIB/libtm_runtime.so ./LIB/libtts_lock.so ./LIB/libttstle_lock.so
        ./LIB/mplace/ring ./LIB/mplace/avltree ./LIB/mplace/malloc_bench ./LIB/mplace/persist_bench ./LIB/mplace/mplace-probe ./LIB/mplace/mplace-count
        ./LIB/mplace/mplace-dram-probe
        ./share/bash-completion/completions/mplace ./share/fish/vendor_completions.d/mplace.fish
        ./share/zsh/vendor-completions/_mplace ./share/zsh/site-functions/_mplace ./LIB/mplace/version ./share/doc/mplace/README.md
        ./share/doc/mplace/copyright ./share/doc/mplace/changelog.gz'
    for name in mplace.1 rtmgrind.1 ring.1 avltree.1 libbank_malloc.7 libcia_malloc.7 libmplace_persist.7 librand_malloc.7 libtm_runtime.7 libtts_lock.7 libttstle_lock.7; do
        wanted+=" ./share/man/man${name##*.}/$name.gz"
    done
    for name in bank_malloc cia_malloc mplace_persist rand_malloc tts_lock ttstle_lock; do
        wanted+=" ./LIB/lib$name.a ./LIB/pkgconfig/mplace-$name.pc"
    done
    # Left out where the compiler has no OpenMP.
    [[ ! -x $build_folder/bin/bank_bench ]] || wanted+=" ./LIB/mplace/bank_bench"
    # Each subcommand of the source tree, and each part that one of them sources.
    for name in "$source_folder"/scripts/{mplace-*,common/*,completion/complete}; do
        wanted+=" ./LIB/mplace/${name#"$source_folder/scripts/"}"
    done
    for name in "$source_folder"/scripts/programs/*.{bash,py,pl,js}; do
        wanted+=" ./LIB/mplace/programs/${name##*/}"
    done
    for name in "$source_folder"/sim/chip/machines/*.machine; do
        wanted+=" ./LIB/mplace/machines/${name##*/}"
    done
    for name in "$source_folder"/sim/chip/machines/parts/*.part; do
        wanted+=" ./LIB/mplace/machines/parts/${name##*/}"
    done
    for name in "$source_folder"/docs/*.md; do
        wanted+=" ./share/doc/mplace/docs/${name##*/}"
    done
    if emulator_is_built; then
        for name in rtmgrind-amd64-linux version none-amd64-linux vgpreload_core-amd64-linux.so default.supp; do
            wanted+=" ./LIB/mplace/valgrind/$name"
        done
    fi
    for name in $wanted; do
        grep -qxF -- "$name" "$scratch/generic" || fail "not installed: $name"
    done
    # Nothing of the tests, and nothing outside of the folders that are ours or shared by their nature.
    unknown=$(grep -vE '^\./(bin/(mplace|ring|avltree)|include/(mplace|mplace_bank|mplace_persist|mplace_trace|rtmgrind)\.h|LIB/lib(tm_runtime\.so|(bank_malloc|cia_malloc|mplace_persist|rand_malloc|tts_lock|ttstle_lock)\.(so|a))|LIB/pkgconfig/mplace(-[a-z]+_[a-z]+)?\.pc|LIB/cmake/mplace/mplaceConfig(Version)?\.cmake|LIB/mplace/[a-z][a-z_-]*(\.bash)?|LIB/mplace/common/([a-z-]+\.bash|lines)|LIB/mplace/completion/complete|LIB/mplace/report/([a-z]+/)*[a-z_]+\.py|LIB/mplace/programs/[a-z_]+\.(bash|py|pl|js)|LIB/mplace/valgrind/[a-z0-9_.-]*|LIB/mplace/machines/[a-z0-9]+\.machine|LIB/mplace/machines/parts/[a-z0-9-]+\.part|share/doc/mplace/.*|share/man/man[17]/[a-z_]*\.[17]\.gz|share/bash-completion/completions/mplace|share/fish/vendor_completions\.d/mplace\.fish|share/zsh/(vendor-completions|site-functions)/_mplace)$' \
        "$scratch/generic" || true)
    expect "files that nobody expects" "" "$unknown"
}

nothing_installed_names_the_build_or_is_writable_by_others()
{
    local links name

    umask 000
    install_tree
    # Binaries may name their sources in debug information, which a package leaves out.
    expect "texts that name the build folder" "" "$(grep -rIlF -- "$build_folder" "$root" || true)"
    expect "texts that name the source folder" "" "$(grep -rIlF -- "$source_folder" "$root" || true)"
    expect "what others may write" "" "$(find "$root" ! -type l -perm /022 ! -path "$root")"
    expect "libraries that may be executed or have a path built in" "" \
        "$(for name in "$libraries"/*.so "$parts"/ring; do readelf -d "$name" | grep -E 'RPATH|RUNPATH' || true; done)"
    links=$(find "$root" -xtype l -lname '/*' ! -lname '/usr/*')
    expect "links that lead out of /usr" "" "$links"
    [[ -x $root/usr/bin/ring ]] || fail "bin/ring leads nowhere: $(readlink "$root/usr/bin/ring")"
}

the_installed_commands_work()
{
    install_tree
    run "$mplace" help
    expect "exit status of help" 0 "$status"
    expect "subcommands" "$("$source_folder/scripts/mplace" help | sed -n 's/^  \([a-z]*\) .*/\1/p')" \
        "$(sed -n 's/^  \([a-z]*\) .*/\1/p' "$scratch/out")"
    run "$mplace" cpu --keys
    expect "exit status of cpu" 0 "$status"
    if emulator_is_built && type -P valgrind >/dev/null; then
        grep -qx 'emulator=usable' "$scratch/out" || fail "cpu does not find the emulator"
    fi
    for name in cia rand; do
        run "$mplace" run --malloc $name --lock ttstle -- "$root/usr/bin/ring" --size 64 --traversals 10 --csv
        expect "exit status of run" 0 "$status"
        expect "what served" "ring,$name,ttstle" "$(cut -d, -f1-3 "$scratch/out")"
    done
    # What was measured comes from the installed tree and nowhere else.
    # shellcheck disable=SC2016 # the program's shell expands it
    run "$mplace" run --malloc cia --lock tts -- sh -c 'echo "$LD_LIBRARY_PATH:$LD_PRELOAD"'
    [[ $(cat "$scratch/out") != *"$build_folder"* && $(cat "$scratch/out") == *libtts_lock.so:* ]] ||
        fail "preloaded: $(cat "$scratch/out")"
}

the_installed_emulator_works()
{
    emulator_is_built || skip "the emulator is not built"
    type -P valgrind >/dev/null || skip "valgrind is not installed"
    # ld.so cannot preload what Valgrind wants to preload from a folder with a blank in its name.
    root=$(mktemp -d /tmp/mplace-test.XXXXXX)
    trap 'rm -rf -- "$scratch" "$root"' EXIT
    install_tree
    run "$mplace" run --malloc cia --lock ttstle --htm emulated --l1d 64x8 -- "$root/usr/bin/ring" --size 64 --traversals 20 --csv
    expect "exit status" 0 "$status"
    expect "transactions" "ring,cia,ttstle,emulated yes" \
        "$(awk -F, '{print $1 "," $2 "," $3 "," $4, ($16 >= 15 ? "yes" : "no: " $0)}' "$scratch/out")"
}

another_valgrind_is_refused_in_one_line()
{
    local built

    emulator_is_built || skip "the emulator is not built"
    built=$(valgrind --version)
    install_tree
    mkdir "$scratch/bin"
    printf '#!/bin/sh\necho valgrind-3.20.0\n' >"$scratch/bin/valgrind"
    chmod +x "$scratch/bin/valgrind"
    PATH=$scratch/bin:$PATH run "$mplace" run --lock ttstle --htm emulated -- true
    expect_refusal "were built with $built"
    grep -q 'installed is valgrind-3.20.0$' "$scratch/err" || fail "it does not say which one is installed"
    PATH=$scratch/bin:$PATH run "$mplace" doctor -- true
    expect_refusal "were built with $built"
}

pkg_config_leads_to_the_header_and_the_libraries()
{
    local compiler flags

    type -P pkg-config >/dev/null || skip "pkg-config is not installed"
    install_tree
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    expect "version" "$(sed -n 's/^project(mplace VERSION \([0-9.]*\) .*/\1/p' "$source_folder/CMakeLists.txt")" \
        "$(pkg-config --modversion mplace)"
    cat >program.c <<'END_OF_C'
#include <dlfcn.h>
#include <mplace.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *(*name)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "mplace_malloc_name");
    struct mplace_lock_statistics counts = {0};
    printf("%s %d\n", name ? name() : "none", (int)counts.acquisitions);
    free(malloc(100));
    return 0;
}
END_OF_C
    # The folder has a blank in its name, which pkg-config writes with a backslash.
    eval "flags=($(pkg-config --cflags --libs mplace))"
    gcc -Wall -Werror -o program program.c "${flags[@]}" 2>"$scratch/err" || fail "the program does not compile"
    expect "without a library" "none 0" "$(./program)"
    run env LD_LIBRARY_PATH="$libraries" LD_PRELOAD=libcia_malloc.so ./program
    expect "with it" "cia 0" "$(cat "$scratch/out")"
    for name in cia_malloc rand_malloc tts_lock ttstle_lock; do
        [[ -f $(pkg-config --variable=$name mplace | sed 's/\\ / /g') ]] ||
            fail "no such file: $(pkg-config --variable=$name mplace)"
    done
    compiler=$(type -P g++) || return 0
    printf '#include <mplace.h>\nint main() { return 0; }\n' >program.cc
    "$compiler" -Wall -Werror -c -o program.o program.cc "${flags[@]}" 2>"$scratch/err" || fail "the header is not C++"
}

uninstall_leaves_what_was_there_and_nothing_else()
{
    # CMake takes a letter beyond ASCII for the end of a line where it is not told otherwise.
    local prefix=$scratch/größe

    mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/empty"
    echo mine >"$prefix/bin/mine"
    (cd -- "$prefix" && find . | LC_ALL=C sort) >"$scratch/before"
    cmake --install "$build_folder" --prefix "$prefix" >/dev/null
    # A second one must not take the folders of the first for somebody else's.
    cmake --install "$build_folder" --prefix "$prefix" >/dev/null
    [[ -x $prefix/bin/mplace ]] || fail "nothing was installed"
    run cmake -P "$build_folder/uninstall.cmake"
    expect "exit status" 0 "$status"
    (cd -- "$prefix" && find . | LC_ALL=C sort) >"$scratch/after"
    diff "$scratch/before" "$scratch/after" >&2 || fail "it is not as before"
    run cmake -P "$build_folder/uninstall.cmake"
    [[ $status -ne 0 ]] || fail "there is nothing to uninstall, and it does not say so"
    # With DESTDIR, which the list of files does not have.
    install_tree
    DESTDIR=$root run cmake -P "$build_folder/uninstall.cmake"
    [[ ! -e $root ]] || fail "left: $(find "$root" | head)"
}

a_prefix_may_be_relative_and_one_that_cmakes_lists_do_not_bear_is_refused()
{
    local prefix

    run timeout 100 cmake --install "$build_folder" --prefix stage
    expect "exit status" 0 "$status"
    [[ -x $scratch/stage/bin/mplace ]] || fail "nothing was installed"
    echo mine >stage/mine
    run cmake -P "$build_folder/uninstall.cmake"
    expect "what is left" ./mine "$(contents stage)"
    for prefix in 'my [a]' 'a;b' 'a[b'; do
        run cmake --install "$build_folder" --prefix "$scratch/$prefix"
        [[ $status -ne 0 ]] || fail "'$prefix' is not refused"
        tr -s ' \n' ' ' <"$scratch/err" | grep -qF 'no ; [ or ] in the name of the folder' || fail "it does not say why"
        [[ ! -e $scratch/$prefix ]] || fail "something was installed into '$prefix'"
    done
}

the_package_has_the_installed_files_and_says_what_it_needs()
{
    local package field

    type -P dpkg-deb dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
    install_tree
    contents "$root" >"$scratch/installed"
    # Nothing is compressed, and nothing is built on the way, which cpack does for make alone: the test is
    # about what is in the package.
    (cd -- "$build_folder" && cpack -B "$scratch/packages" -D CPACK_CMAKE_GENERATOR=Ninja -D CPACK_DEBIAN_COMPRESSION_TYPE=none) \
        >"$scratch/out" 2>"$scratch/err" || fail "cpack failed"
    package=$(find "$scratch/packages" -maxdepth 1 -name 'mplace_*_amd64.deb')
    [[ -n $package ]] || fail "no package: $(ls "$scratch/packages")"
    dpkg-deb -c "$package" >"$scratch/listed"
    expect "files of somebody else than root" "" "$(awk '$2 != "root/root"' "$scratch/listed")"
    dpkg-deb -x "$package" "$scratch/unpacked"
    contents "$scratch/unpacked" >"$scratch/packed"
    diff "$scratch/installed" "$scratch/packed" >&2 || fail "the package has other files than an installation"
    expect "files with debug information" "" "$(find "$scratch/unpacked" -name '*.so' -type f \
        -exec sh -c 'readelf -S "$1" | grep -q "\.debug_info" && echo "$1"' sh {} \;)"
    for field in 'Package: mplace$' 'Depends: .*libc6 ' 'Depends: .*libhwloc15' 'Recommends: .*parallel' \
        'Recommends: .*python3.*gnuplot' 'Version: [0-9]' 'Maintainer: .*@'; do
        dpkg-deb -f "$package" | grep -qE "^$field" || fail "the package does not say '$field'"
    done
    if emulator_is_built; then
        version=$(valgrind --version)
        dpkg-deb -f "$package" Recommends |
            grep -qE "valgrind \(>= ([0-9]+:)?${version#valgrind-}.*valgrind \(<< ([0-9]+:)?${version#valgrind-}\.0\)" ||
            fail "Valgrind's version is open: $(dpkg-deb -f "$package" Recommends)"
    fi
    expect "version of the changelog" "mplace ($(dpkg-deb -f "$package" Version))" \
        "$(zcat "$scratch/unpacked/usr/share/doc/mplace/changelog.gz" | sed -n '1s/ unstable.*//p')"
    run "$scratch/unpacked/usr/bin/mplace" run --malloc cia --lock tts -- "$scratch/unpacked/usr/bin/ring" --size 64 --traversals 10 --csv
    expect "what runs from the package" "ring,cia,tts" "$(cut -d, -f1-3 "$scratch/out")"
}

run_claim
