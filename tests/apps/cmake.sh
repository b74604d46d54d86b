#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cmake configures a generated project of a library and a program, ninja builds it with two jobs, and
# ctest runs it: the same objects byte for byte, and the same printed, as without.
#
# Proof: all processes together report allocations. Neither cmake nor ninja starts a thread here; a
# mutex is taken a few times by libuv, under which cmake starts its children.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "cmake configures, ninja builds with two jobs, ctest runs a generated project" \
    cmake ninja-build gcc-12
need /usr/bin/cmake cmake
need /usr/bin/ninja ninja-build
need /usr/bin/gcc gcc

files=$(quick_or_full 2 20)
mkdir project
if [[ $(id -u) == 0 ]]; then chown nobody: project; fi
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(generated LANGUAGES C)
include(CheckCSourceCompiles)
include(CheckIncludeFile)
check_include_file(unistd.h HAVE_UNISTD)
check_c_source_compiles("int main(void) { return __builtin_popcount(1); }" HAVE_POPCOUNT)
set(sources "")
foreach(i RANGE 1 $files)
    configure_file(part.c.in part\${i}.c @ONLY)
    list(APPEND sources \${CMAKE_CURRENT_BINARY_DIR}/part\${i}.c)
endforeach()
string(REPEAT "text;" 2000 text)
list(REMOVE_DUPLICATES text)
list(LENGTH text length)
add_library(parts STATIC \${sources})
add_executable(program main.c)
target_compile_definitions(program PRIVATE LENGTH=\${length} POPCOUNT=\${HAVE_POPCOUNT})
target_link_libraries(program PRIVATE parts)
enable_testing()
foreach(i RANGE 1 $files)
    add_test(NAME part\${i} COMMAND program \${i})
endforeach()
END
cat >project/part.c.in <<'END'
int part@i@(int value);
int part@i@(int value)
{
    for (int i = 0; i < 100 + @i@; i++) value = value * 31 + (value >> 3) % (@i@ + 1);
    return value;
}
END
{
    echo '#include <stdio.h>'
    for ((i = 1; i <= files; i++)); do echo "int part$i(int);"; done
    echo 'int main(int n, char **a) { unsigned sum = LENGTH + POPCOUNT + (unsigned)n;'
    for ((i = 1; i <= files; i++)); do echo "sum = sum * 7 + (unsigned)part$i($i);"; done
    # shellcheck disable=SC2028 # for the C compiler
    echo 'printf("%u %s\n", sum, a[0] ? "ok" : "none"); return 0; }'
} >project/main.c

# The same folder name in both runs: it goes into the objects.
steps() {
    "$1" ${2:+"$2-configure"} /usr/bin/cmake -G Ninja -S project -B tree -DCMAKE_BUILD_TYPE=Release \
        >configure.err 2>&1 || fail "cmake failed (${2:-without any library})"
    "$1" ${2:+"$2-build"} /usr/bin/cmake --build tree -j 2 >build.err 2>&1 ||
        fail "ninja failed (${2:-without any library})"
    "$1" ${2:+"$2-test"} /usr/bin/ctest --test-dir tree >ctest.err 2>&1 ||
        fail "ctest failed (${2:-without any library})"
    grep -q "100% tests passed, 0 tests failed out of $files" ctest.err ||
        fail "ctest did not run all tests (${2:-without any library})"
    ./tree/program >"$3.output"
    find tree -name '*.o' -exec sha256sum {} + | sort -k 2 >"$3.objects"
}

steps plainly '' reference
mv tree reference-tree
steps preloaded cmake preloaded
prove cmake-configure all 100000 0
prove cmake-build all 10000 0
prove cmake-test all 1000 0
same "what the program prints" reference.output preloaded.output
same "the digests of the objects" reference.objects preloaded.objects
say "cmake and ninja: $(wc -l <preloaded.objects) objects as without"
