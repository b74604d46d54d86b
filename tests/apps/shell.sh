#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A bash script of functions, arrays, pattern replacement, subshells and here-documents drives awk,
# sort with two threads, tar with a compressor, find, sed and xargs: about sixty processes, which
# print together what they print without a library.
#
# Proof: all processes together report allocations (Debian's bash is built on libc's malloc). sort
# takes mutexes when its two threads merge; the rest takes few or none.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "a script of arrays, subshells and pipes; sort --parallel, tar, find, awk, xargs" \
    bash coreutils tar mawk findutils
need /usr/bin/tar tar

cat >work.bash <<'END'
set -euo pipefail
shopt -s extglob
lines=$1 folder=$(mktemp -d "$TMPDIR/shell.XXXXXX")
cd "$folder"
declare -A count=()
list=()
fib() { if (($1 < 2)); then echo "$1"; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }
for ((i = 0; i < 2000; i++)); do
    word="word$((i * 7919 % 613))"
    count[$word]=$((${count[$word]:-0} + i))
    list+=("${word//o/0}:${word#w??}:${word^^}")
done
printf '%s\n' "${#count[@]} ${count[word7]} ${list[*]:100:5} ${list[-1]/+([0-9])/x}"
fib 7
text=$(printf '%05000d' 0)
for ((i = 0; i < 100; i++)); do text+=${text:i:50}; done
echo "${#text} ${text:4990:20}"
cat <<HERE | sed 's/\([a-z]*\) *$/<\1>/'
$(printf 'line %s of a here-document\n' {1..20})
HERE
mapfile -t sorted < <(printf '%s\n' "${!count[@]}" | sort)
echo "${sorted[@]:0:5}"

seq 1 "$lines" | awk '{ printf "%d %x %s\n", $1 * 48271 % 2147483647, $1 * 69621 % 65521, "t" $1 % 977 }' >numbers
sort --parallel=2 -S 2M -k2,2 -k1,1n numbers | sha256sum
sort --parallel=2 -S 8M -n numbers | uniq -w 4 -c | tail -n 3
mkdir tree
split -l $((lines / 20 + 1)) numbers tree/part.
(cd tree && tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -czf ../tree.tar.gz .)
mkdir copy
tar -xzf tree.tar.gz -C copy
diff -r tree copy && gzip -t tree.tar.gz
find copy -type f -print0 | sort -z | xargs -0 -n 4 -P 1 sha256sum
cd /
rm -rf -- "$folder"
END

lines=$(quick_or_full 20000 400000)
twice shell 20000 "$(quick_or_full 2 10)" /bin/bash work.bash "$lines"
say "bash: $(wc -l <shell-preloaded.output) lines as without"
