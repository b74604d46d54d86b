#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs run under valgrind --tool=none with the libraries preloaded, and print what they print
# without: sqlite3, xz with two threads, and perl. Valgrind has no restartable sequences and a thread
# at a time, which the libraries must find out by themselves.
#
# Proof: the program, which valgrind runs in its own process, reports allocations and acquisitions.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "--tool=none around preloaded sqlite3, xz -T2 and perl" valgrind sqlite3 xz-utils perl-base
need /usr/bin/valgrind valgrind
need /usr/bin/sqlite3 sqlite3
need /usr/bin/xz xz-utils

rows=$(quick_or_full 300 20000)
cat >work.sql <<END
PRAGMA threads = 2;
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO item WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $rows)
    SELECT i, printf('%08x %0*d', i * 48271 % 2147483647, i % 200, i) FROM n;
CREATE INDEX item_name ON item (name);
SELECT count(*), min(name), max(name), sum(length(name)) FROM item;
SELECT name FROM item WHERE name LIKE '%7%' ORDER BY name LIMIT 20;
END
seq 1 "$(quick_or_full 20000 400000)" >input

# Without a library it also runs without valgrind: the reference is what the program prints.
under_valgrind() {
    local name=$1 allocations=$2 acquisitions=$3
    shift 3
    plainly "$@" >"$name-reference.output" 2>"$name-reference.err" ||
        fail "$name failed without any library"
    # What it says of the program's own system calls, it says without the library, too.
    plainly /usr/bin/valgrind --tool=none -q --log-file="$work/$name-reference.valgrind" "$@" >/dev/null 2>&1 ||
        fail "$name failed under valgrind without any library"
    preloaded "$name" /usr/bin/valgrind --tool=none -q --log-file="$work/$name.valgrind" "$@" \
        >"$name-preloaded.output" 2>"$name.err" || fail "$name failed under valgrind and the library"
    prove "$name" "$pid" "$allocations" "$acquisitions"
    same "what $name printed under valgrind" "$name-reference.output" "$name-preloaded.output"
    sed -i 's/^\([-=]*\)[0-9]*\([-=]*\)/\1\2/' "$name-reference.valgrind" "$name.valgrind"
    cmp -s "$name-reference.valgrind" "$name.valgrind" ||
        fail "valgrind complains: $(diff "$name-reference.valgrind" "$name.valgrind" | head -n 3)"
}

under_valgrind sqlite3 "$rows" "$rows" /usr/bin/sqlite3 -batch -bail -init work.sql :memory: .quit
under_valgrind xz 20 50 /usr/bin/xz -T2 -1 --block-size=64KiB -c input
if [[ $full == 1 ]]; then
    # shellcheck disable=SC2016 # not the shell's variables
    under_valgrind perl 5000 0 /usr/bin/perl -e \
        'my %h; $h{$_ % 977} .= "x$_" for 1 .. 50000; print length $h{$_}, "\n" for sort keys %h'
fi
say "valgrind --tool=none: output as without"
