#!/bin/bash
# SPDX-License-Identifier: MIT
#
# clang -O2 compiles a generated file to the same object as without, and lld links hundreds of
# sections with four threads to the same program.
#
# Proof: clang and lld report allocations. lld leaves by _exit unless LLD_IN_TEST is set; its threads
# share work under std::mutex and condition variables. clang takes no mutex.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
source "$(dirname -- "${BASH_SOURCE[0]}")/compilers.bash"
start "$@"
shows "clang -O2 of a generated file; lld links 200 objects with four threads" clang-14 lld-14
need /usr/bin/clang clang
need /usr/bin/ld.lld lld

functions=$(quick_or_full 30 300)
objects=$(quick_or_full 20 200)
awk -v functions="$functions" -v objects="$objects" 'BEGIN {
    print "#include <stdio.h>"
    print "extern int shared[]; int table(int);"
    for (f = 0; f < functions; f++) {
        printf "__attribute__((noinline)) static double f%d(double *v, int n)\n{\n", f
        print "    double s = 0; for (int i = 0; i < n; i++) switch (i % 7) {"
        for (c = 0; c < 7; c++)
            printf "    case %d: s += v[i] * %d.5 - s / (%d + i); break;\n", c, f * c % 11, f % 13 + 1
        printf "    }\n    for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) v[i] += v[j] * %d;\n", f % 5
        print "    return s + v[n / 2];\n}"
    }
    print "int main(void) { double v[32] = {1, 2, 3}, s = table(3);"
    for (f = 0; f < functions; f++) printf "s += f%d(v, 32); v[%d] = 0.5; v[3] = 1 / (1 + v[3] * v[3]);\n", f, f % 32
    print "printf(\"%.6g\\n\", s); return 0; }"
}' >large.c
mkdir parts
for ((i = 0; i < objects; i++)); do
    printf 'int part%d(int v) { static const char text[] = "common text %d"; return v + text[v %% 5]; }\n' \
        "$i" "$((i % 10))" >"parts/$i.c"
done
{
    for ((i = 0; i < objects; i++)); do echo "int part$i(int);"; done
    echo 'int table(int v) { int s = 0;'
    for ((i = 0; i < objects; i++)); do echo "s += part$i(v);"; done
    echo 'return s; }'
} >parts/table.c
if [[ $(id -u) == 0 ]]; then chown -R nobody: parts; fi
(cd parts && plainly /usr/bin/clang -O1 -ffunction-sections -fdata-sections -g -c ./*.c) 2>parts.err ||
    fail "clang failed to compile the parts without any library"

compile() { "$@" /usr/bin/clang -O2 -g -c large.c -o large.o; }
# The driver gives lld the paths of libc's start files.
link() {
    "$@" LLD_IN_TEST=1 /usr/bin/clang -fuse-ld=lld -Wl,--threads=4,--gc-sections,--icf=all,--build-id=sha1 \
        large.o parts/*.o -o large
}
same_object_and_program large.o large 50
plainly ./reference-large >reference.output
preloaded program ./large >preloaded.output || fail "the program failed under the library"
same "what the program prints" reference.output preloaded.output
say "clang and lld: an object of $(stat -c %s large.o) and a program of $(stat -c %s large) bytes as without"
