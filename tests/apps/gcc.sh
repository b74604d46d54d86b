#!/bin/bash
# SPDX-License-Identifier: MIT
#
# gcc -O2 compiles a large generated file to the same object, byte for byte, and the program made of
# it computes the same numbers as without.
#
# Proof: the driver, the compiler proper, the assembler and the linker report allocations. None of
# Debian's gcc 12 programs takes a mutex (a counting pthread_mutex_lock saw no call in a whole build),
# so of the lock libraries only their presence to the end of every process can be shown here.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/compilers.bash"
start "$@"
shows "-O2 of a generated file; the program made of it" gcc-12
need /usr/bin/gcc gcc

seed=19750101
functions=$(quick_or_full 70 1500)
say "input: $functions functions, seed $seed"

# Functions of nested loops, switches, structures, calls and floating point, in one file.
awk -v seed="$seed" -v functions="$functions" '
    '"$awk_random"'
    function term(    kind) {
        kind = random(5)
        if (kind == 0) return "a"
        if (kind == 1) return "b"
        if (kind == 2) return "s->count[" random(8) "]"
        if (kind == 3) return (random(100000) + 1) "u"
        return "(a >> " random(31) ")"
    }
    function expression(depth,    kind) {
        if (depth == 0) return term()
        kind = random(7)
        if (kind < 5)
            return "(" expression(depth - 1) " " substr("+-*^&", kind + 1, 1) " " \
                expression(depth - 1) ")"
        if (kind == 5) return "(" expression(depth - 1) " % " (random(1000) + 1) "u)"
        return "(" expression(depth - 1) " > b ? " term() " : " expression(depth - 1) ")"
    }
    BEGIN {
        print "#include <stdio.h>\n#include <string.h>"
        print "struct state { unsigned count[8]; double mean; char text[32]; };"
        for (f = 0; f < functions; f++) {
            print "static unsigned function_" f "(struct state *s, unsigned a, unsigned b)\n{"
            print "    for (unsigned i = 0; i < " random(9) + 2 "; i++) {"
            print "        switch ((a ^ i) % " random(6) + 3 ") {"
            for (c = 0; c < 3; c++)
                print "        case " c ": s->count[" random(8) "] += " expression(3) "; break;"
            print "        default: a = " expression(4) ";"
            print "        }"
            print "        s->mean = s->mean * 0." random(9) + 1 " + (double)(b + i) / 3.0;"
            print "        if (s->count[i % 8] & 1) s->text[i % 31] = (char)(\x27A\x27 + a % 26);"
            print "    }"
            if (f > 0) print "    if (a & 1) b += function_" random(f) "(s, a >> 1, b + 1);"
            print "    return " expression(5) ";\n}"
        }
        print "int main(void)\n{\n    struct state s = {.count = {1, 2, 3}};\n    unsigned sum = 1;"
        for (f = 0; f < functions; f++)
            print "    sum = sum * 31 + function_" f "(&s, sum, " random(1000) ");"
        print "    printf(\"%u %u %.6g %s\\n\", sum, s.count[3], s.mean, s.text);\n    return 0;\n}"
    }' >large.c

# The object is named alike in both runs, and no path or time goes into it.
compile() { "$@" /usr/bin/gcc -std=gnu11 -O2 -w -frandom-seed=mplace -c large.c -o large.o; }
link() { "$@" /usr/bin/gcc -Wl,--build-id=none large.o -o large; }

same_object_and_program large.o large 0
plainly ./reference-large >reference.output
preloaded program ./large >preloaded.output 2>program.err ||
    fail "the compiled program failed under the library"
prove program "$pid" 1 0

same "what the program printed" reference.output preloaded.output
say "gcc: $(wc -l <large.c) lines to an object of $(stat -c %s large.o) bytes as without"
