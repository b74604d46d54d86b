#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What librand_malloc.so promises as a preloaded library.
# Usage: rand_test.sh BUILD_DIRECTORY NEXT CLAIM
# NEXT: glibc, jemalloc, mimalloc or tcmalloc, what stands behind it. CLAIM: a function below, or a
# claim of rand_claims. Exit status: 0 it holds, 1 it does not, 77 this machine cannot tell.
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: rand_test.sh BUILD_DIRECTORY NEXT CLAIM" >&2
    exit 2
fi
build=$1
next=$2
claim=$3
library=$build/lib/librand_malloc.so
programs=$build/tests
plugins=$build/tests/plugins
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset LD_PRELOAD RAND_PROBABILITY RAND_MAX_EXTRA RAND_SEED RAND_STATS

case $next in
    glibc) behind= ;;
    jemalloc) behind=libjemalloc.so.2 ;;
    mimalloc) behind=libmimalloc.so.2.0 ;;
    tcmalloc) behind=libtcmalloc_minimal.so.4 ;;
    *)
        echo "rand_test.sh: unknown next allocator: $next" >&2
        exit 2
        ;;
esac
if [ -n "$behind" ] && LD_PRELOAD=$behind /bin/true 2>&1 | grep -q .; then
    echo "$behind is not installed"
    exit 77
fi

fail() {
    echo "$claim: $*" >&2
    exit 1
}

# Runs a command with the library in front of the next allocator.
jittered() {
    LD_PRELOAD="$library${behind:+ $behind}" "$@"
}

plain() {
    LD_PRELOAD=$behind "$@"
}

expect() { # what, expected, got
    [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

# A claim of rand_claims, with settings from mild to wild. Where the next allocator itself does not
# hold it, the library cannot be blamed; it may well hold all the same (jemalloc has no pvalloc).
family() {
    local settings alone=0
    RAND_TEST_MAX_EXTRA=0 plain "$programs/rand_claims" "$claim" 2>"$scratch/alone" || alone=$?
    for settings in "100 64" "50 1024" "100 65536" "0 64" "100 0"; do
        read -r RAND_PROBABILITY RAND_MAX_EXTRA <<<"$settings"
        export RAND_PROBABILITY RAND_MAX_EXTRA
        if ! RAND_TEST_MAX_EXTRA=$RAND_MAX_EXTRA jittered "$programs/rand_claims" "$claim"; then
            [ "$alone" = 0 ] ||
                { echo "$next alone does not hold it: $(cat "$scratch/alone")" && exit 77; }
            fail "probability $RAND_PROBABILITY, greatest extra $RAND_MAX_EXTRA"
        fi
    done
}

# jemalloc has neither pvalloc nor reallocarray: glibc's, behind it, must not come in. This claim does
# not hold for it alone, and must for the two together.
what_the_next_allocator_lacks_is_supplied() {
    local symbols
    symbols=$(nm -D --defined-only "$(/sbin/ldconfig -p | awk -v name="$behind" '$1 == name { print $NF; exit }')" |
        awk '{ print $3 }')
    ! grep -qx pvalloc <<<"$symbols" || { echo "this $next has a pvalloc" && exit 77; }
    jittered "$programs/rand_claims" blocks_are_aligned
    jittered "$programs/rand_claims" usable_bytes_are_really_there
}

what_the_next_allocator_decides_stays_its_decision() {
    plain "$programs/rand_claims" print_what_the_next_allocator_decides >"$scratch/plain"
    jittered "$programs/rand_claims" print_what_the_next_allocator_decides >"$scratch/jittered"
    diff "$scratch/plain" "$scratch/jittered" >&2 || fail "the answers differ"
    [ -s "$scratch/plain" ] || fail "nothing was compared"
}

usable_sizes() {
    jittered "$programs/rand_claims" print_usable_sizes
}

a_seed_repeats_and_another_differs() {
    RAND_SEED=7 usable_sizes >"$scratch/a"
    RAND_SEED=7 usable_sizes >"$scratch/b"
    RAND_SEED=8 usable_sizes >"$scratch/c"
    usable_sizes >"$scratch/default"
    RAND_SEED=1 usable_sizes >"$scratch/one"
    cmp "$scratch/a" "$scratch/b" || fail "two runs with one seed differ"
    cmp "$scratch/default" "$scratch/one" || fail "the default seed is not 1"
    ! cmp -s "$scratch/a" "$scratch/c" || fail "two seeds give the same"
}

every_request_may_be_jittered_and_none_when_switched_off() {
    plain "$programs/rand_claims" print_usable_sizes >"$scratch/plain"
    RAND_PROBABILITY=0 usable_sizes >"$scratch/off"
    RAND_MAX_EXTRA=0 usable_sizes >"$scratch/no-extra"
    RAND_MAX_EXTRA=15 usable_sizes >"$scratch/below-the-grain"
    local off
    for off in off no-extra below-the-grain; do
        cmp "$scratch/plain" "$scratch/$off" || fail "$off changes something"
    done
    RAND_PROBABILITY=100 RAND_MAX_EXTRA=64 usable_sizes >"$scratch/on"
    paste <(tr ' ' '\n' <"$scratch/plain") <(tr ' ' '\n' <"$scratch/on") |
        awk 'NF == 2 { blocks++; if ($2 >= $1 + 16 && $2 <= $1 + 64) jittered++; seen[$2 - $1]++ }
             END { exit !(blocks == 200 && jittered == 200 && length(seen) == 4) }' ||
        fail "not all of 200 blocks are 16, 32, 48 or 64 B above $(cut -c 1-12 "$scratch/plain")"
}

a_bad_setting_is_one_line_and_the_default() {
    usable_sizes >"$scratch/default"
    local bad
    for bad in RAND_PROBABILITY=101 RAND_PROBABILITY=x RAND_PROBABILITY=-1 RAND_MAX_EXTRA=1e3 \
        RAND_MAX_EXTRA=1048577 RAND_SEED=abc RAND_SEED=99999999999999999999; do
        env "$bad" LD_PRELOAD="$library" "$programs/rand_claims" print_usable_sizes \
            >"$scratch/out" 2>"$scratch/err"
        cmp "$scratch/default" "$scratch/out" || fail "$bad is not as the default"
        expect "lines about $bad" 1 "$(wc -l <"$scratch/err")"
        grep -qF -- "mplace: $bad is not allowed" "$scratch/err" || fail "$(cat "$scratch/err")"
    done
}

statistics_say_what_happened_and_only_when_asked() {
    usable_sizes >"$scratch/out" 2>"$scratch/err"
    expect "standard error unasked" "" "$(cat "$scratch/err")"
    RAND_STATS=1 RAND_SEED=42 usable_sizes >"$scratch/asked" 2>"$scratch/err"
    expect "lines" 1 "$(wc -l <"$scratch/err")"
    grep -qE '^mplace rand: requests ([0-9]+), jittered \1, bytes added [0-9]+,.* seed 42,' \
        "$scratch/err" || fail "$(cat "$scratch/err")"
    awk '{ gsub(",", ""); exit !($4 >= 200 && $9 >= 16 * $4 && $9 <= 64 * $4) }' "$scratch/err" ||
        fail "the counts do not fit 200 blocks: $(cat "$scratch/err")"
    grep -q "next .*$(basename "${behind:-libc.so}")" "$scratch/err" || fail "$(cat "$scratch/err")"
    RAND_PROBABILITY=0 RAND_STATS=1 usable_sizes 2>&1 >/dev/null |
        grep -qE 'requests [2-9][0-9][0-9], jittered 0, bytes added 0,' || fail "none jittered"
    RAND_STATS=$scratch/stats-%p usable_sizes >/dev/null
    expect "files" 1 "$(find "$scratch" -name 'stats-[0-9]*' | wc -l)"
    grep -q '^mplace rand: requests' "$scratch"/stats-* || fail "the file has no statistics"
}

a_child_reports_itself_alone() {
    LD_PRELOAD=$library RAND_STATS=$scratch/stats-%p /usr/bin/perl -e '
        my @blocks = map { "x" x 1000 . $_ } 1 .. 20000;
        my $child = fork(); exit 0 if $child == 0; waitpid($child, 0);' || exit 77
    expect "files" 2 "$(find "$scratch" -name 'stats-[0-9]*' | wc -l)"
    # The parent made more than 20000 requests before the fork; the child none of them.
    expect "processes with more than 20000 requests" 1 \
        "$(awk '{ sub(",", "", $4); if ($4 > 20000) n++ } END { print n + 0 }' "$scratch"/stats-*)"
}

it_exports_the_malloc_family_and_its_name_alone() {
    expect "exported symbols" \
        "aligned_alloc calloc free free_aligned_sized free_sized malloc malloc_usable_size memalign mplace_malloc_name posix_memalign pvalloc realloc reallocarray valloc" \
        "$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort | xargs)"
}

a_request_that_the_next_allocator_just_grants_is_granted() {
    LD_PRELOAD="$library $plugins/rand_picky_next.so" "$programs/rand_picky_test"
}

blocks_of_the_look_up_are_blocks_like_any_other() {
    LD_PRELOAD="$plugins/rand_dlsym.so $library${behind:+ $behind}" "$programs/rand_dlsym_test"
}


the_ring_names_it() {
    local label=rand
    [ "$next" = glibc ] || label=rand+$next
    expect malloc "$label" "$(jittered "$build/bin/ring" --size 512 --traversals 10 --csv |
        cut -d, -f2)"
}

# glibc's bad sizes: 16 B below powers of two and the like. The seed is fixed, and so is the result.
the_ring_covers_many_more_sets_at_glibcs_bad_sizes() {
    local size plain jittered
    for size in 504 1008 1016 1528 2040 3064 4080; do
        plain=$(plain "$build/bin/ring" --size $size --traversals 10 --csv | cut -d, -f11)
        jittered=$(jittered "$build/bin/ring" --size $size --traversals 10 --csv | cut -d, -f11)
        [ "$jittered" -ge $((2 * plain)) ] || fail "$size B: $plain sets, jittered $jittered"
        [ "$jittered" -ge 32 ] || fail "$size B: only $jittered sets"
    done
}

# Proof that the library served: its statistics, written by each process of the program.
served() {
    local requests
    requests=$(cat "$scratch"/stats-* 2>/dev/null |
        awk '{ sub(",", "", $4); n += $4 } END { print n + 0 }')
    [ "$requests" -gt "$1" ] || fail "the library served $requests requests only"
}

real_programs_give_the_same_results() {
    local program
    for program in /usr/bin/python3 /usr/bin/git /usr/bin/xz; do
        [ -x "$program" ] || { echo "$program is missing" && exit 77; }
    done
    export RAND_STATS=$scratch/stats-%p PYTHONMALLOC=malloc HOME=$scratch
    jittered /usr/bin/python3 -c '
import json, zlib, random
random.seed(1)
data = {str(i): [random.random() for _ in range(i % 50)] for i in range(2000)}
assert json.loads(json.dumps(data)) == data
text = json.dumps(data).encode()
assert zlib.decompress(zlib.compress(text)) == text
print(zlib.crc32(text))' >"$scratch/python"
    [ -s "$scratch/python" ] || fail "python3 printed nothing"
    served 10000

    seq 300000 >"$scratch/text"
    plain xz -T2 --block-size=262144 -c "$scratch/text" >"$scratch/plain.xz"
    jittered xz -T2 --block-size=262144 -c "$scratch/text" >"$scratch/jittered.xz"
    cmp "$scratch/plain.xz" "$scratch/jittered.xz" || fail "xz compresses differently"
    jittered xz -dc "$scratch/jittered.xz" | cmp - "$scratch/text" || fail "xz decompresses wrong"

    jittered git init -q "$scratch/repository"
    cp "$scratch/text" "$scratch/repository"
    cd "$scratch/repository"
    jittered git add text
    jittered git -c user.name=test -c user.email=test@example.org commit -q -m "A commit"
    jittered git gc -q
    jittered git fsck --strict 2>"$scratch/fsck" || fail "git fsck: $(cat "$scratch/fsck")"
    git fsck --strict 2>"$scratch/fsck" || fail "git fsck without it: $(cat "$scratch/fsck")"
    served 20000
}

if [ "$(type -t "$claim")" = function ]; then
    "$claim"
else
    family
fi
