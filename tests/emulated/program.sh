#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# An unmodified Debian program under the emulator, on a processor that offers RTM: its output must
# be what it is without.
#
#   usage: program.sh python3|perl|gcc|git|sqlite3
set -euo pipefail

name=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export LC_ALL=C TZ=UTC HOME=$work
program=/usr/bin/$name
if [[ ! -x $program ]]; then
    echo "skipped: $program is not installed (Debian: apt-get install $name)"
    exit 77
fi

# Each runs in a folder of its own, so that the two runs see the same.
run_python3()
{
    "$@" /usr/bin/python3 -c '
import json, queue, threading
results = queue.Queue()
def work(n):
    results.put(sum(len(json.dumps({"n": i, "square": i * i})) for i in range(200 * n)))
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(results.get() for _ in threads))'
}

run_perl()
{
    # shellcheck disable=SC2016 # Perl's variables, not the shell's
    "$@" /usr/bin/perl -e 'my %count; $count{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 20000;
        print join("\n", map { "$_ $count{$_}" } sort keys %count), "\n"'
}

run_gcc()
{
    cat >hello.c <<'PROGRAM'
#include <stdio.h>
int main(void) { for (int i = 0; i < 3; i++) printf("%d\n", i * i); return 0; }
PROGRAM
    "$@" --trace-children=yes /usr/bin/gcc -O1 -S hello.c -o -
}

run_git()
{
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='2000-01-01 00:00:00 +0000'
    export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
    seq 500 >numbers
    git init -q -b main .
    "$@" /usr/bin/git add numbers
    "$@" /usr/bin/git commit -q -m numbers
    "$@" /usr/bin/git log --stat
    "$@" /usr/bin/git fsck --full --no-progress
}

run_sqlite3()
{
    "$@" /usr/bin/sqlite3 base.db 'create table t (k integer primary key, v text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
            insert into t select i, hex(i * 7919) from n;
        create index v on t (v); select count(*), sum(length(v)), max(v) from t;
        pragma integrity_check;'
}

# The valgrind options of a run come between, so without it they are dropped.
plainly()
{
    [[ $1 != --* ]] || shift
    "$@"
}

emulated()
{
    local options=()
    if [[ $1 == --* ]]; then
        options=("$1")
        shift
    fi
    MPLACE_HTM=emulated valgrind -q --tool=rtmgrind "${options[@]}" "$@"
}

for how in plainly emulated; do
    mkdir "$work/$how"
    cd "$work/$how"
    "run_$name" "$how" >"$work/$how.out"
done
cmp "$work/plainly.out" "$work/emulated.out"
[[ -s $work/plainly.out ]]
echo "$name: $(wc -c <"$work/plainly.out") bytes of output are the same"
