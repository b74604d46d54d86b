# SPDX-License-Identifier: MIT
#
# A compiler makes the same object, and a linker the same program, with and without. To be sourced
# after common.bash.

# shellcheck shell=bash

# same_object_and_program OBJECT PROGRAM ACQUISITIONS: the script's functions compile and link, given
# how to run a program, make them in the current folder. The names are the same in both runs: they may
# go into the files. The reference stays beside them as reference-NAME; so many mutexes the linker takes.
same_object_and_program() {
    compile plainly 2>compile-reference.err || fail "the compiler failed without any library"
    link plainly 2>link-reference.err || fail "the linker failed without any library"
    mv -- "$1" "reference-$1"
    mv -- "$2" "reference-$2"
    compile preloaded compile 2>compile.err || fail "the compiler failed under the library"
    prove compile all 10000 0
    link preloaded link 2>link.err || fail "the linker failed under the library"
    prove link all 1000 "$3"
    same "the object file" "reference-$1" "$1"
    same "the linked program" "reference-$2" "$2"
}
