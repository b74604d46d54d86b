#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Takes one rule after the other out of the algorithms, builds libtm_runtime.so without it, and runs
# the random transactions until one of them notices. Exit status 1 if a mutant lives.
# usage: mutants.sh SOURCE BUILD [MUTANT...]
# SOURCE: the tree; BUILD: where tm_random and the library of src/base are built.
set -euo pipefail

[[ $# -ge 2 ]] || {
    echo "usage: mutants.sh SOURCE BUILD [MUTANT...]" >&2
    exit 2
}
source=$(readlink -f -- "$1")
build=$(readlink -f -- "$2")
shift 2
wanted=("$@")
seeds=${TM_MUTANT_SEEDS:-1500}
unset LD_PRELOAD
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-mutants.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
lived=0

# compile: $scratch/src to $scratch/libtm_runtime.so.
compile()
{
    gcc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -D_GNU_SOURCE -Wno-psabi \
        -I"$scratch/src" -I"$source/src" -I"$source/include" -o "$scratch/libtm_runtime.so" \
        "$scratch"/src/tm_runtime/*.[cS] "$scratch"/src/tm_runtime/*/*.c "$source/src/ttstle_lock/rtm_probe.c" \
        -Wl,--version-script="$scratch/src/tm_runtime/tm_runtime.map" "$build/obj/libmplace_base.a" -ldl
}

# notices ALGORITHM: whether the random transactions fail, or hang.
notices()
{
    ! TM_ALGORITHM=$1 MALLOC_PERTURB_=165 LD_PRELOAD="$scratch/libtm_runtime.so" \
        timeout 120 "$build/tests/tm_random" 1 "$seeds" 2>"$scratch/said"
}

# mutant NAME ALGORITHM FILE FROM TO: FROM, a literal text that is there once, becomes TO.
mutant()
{
    local name=$1 algorithm=$2 file=$3
    if [[ ${#wanted[@]} -gt 0 && " ${wanted[*]} " != *" $name "* ]]; then
        return
    fi
    rm -rf "$scratch/src"
    mkdir "$scratch/src"
    cp -r "$source/src/tm_runtime" "$scratch/src/"
    python3 - "$scratch/src/tm_runtime/$file" "$4" "$5" <<'END'
import sys
path, old, new = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()
if text.count(old) != 1:
    sys.exit(f"{path} has {text.count(old)} times: {old}")
with open(path, "w", encoding="utf-8") as file:
    file.write(text.replace(old, new))
END
    compile
    if notices "$algorithm"; then
        echo "$name: found: $(tail -n 1 "$scratch/said")"
    else
        echo "$name: LIVES"
        lived=1
    fi
}

mutant eager_commits_without_validation eager algorithms/eager.c \
    'if (now != self->snapshot + 1 && !lock_table_reads_are_valid(self))' 'if (0)'
mutant extends_without_validation eager algorithms/lock_table.c \
    'if (!lock_table_reads_are_valid(self))' 'if (0)'
# With a pause where another thread must run; the pause alone changes nothing.
pause='{ extern int sched_yield(void); (void)sched_yield(); }'
second_look='        value = memory_load(from, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__builtin_expect(__atomic_load_n(lock, __ATOMIC_RELAXED) == seen, 1)) {'
mutant reads_without_a_second_look eager algorithms/lock_table.h \
    "$second_look" "$pause value = memory_load(from, size); if (1) {"
mutant reads_what_is_locked_or_new eager algorithms/lock_table.h \
    'if (__builtin_expect(seen > self->snapshot, 0))' 'if (0)'
mutant does_not_wait_for_readers eager transaction.c 'if (time > self->quiesced)' 'if (0)'
mutant undoes_nothing eager transaction.c \
    'undo_log_apply(&self->undo, 0, here - BELOW_STACK, dead_end);' 'self->undo.used = 0; (void)dead_end;'
mutant writes_without_locks eager algorithms/eager.c \
    'if (__atomic_load_n(lock, __ATOMIC_RELAXED) != self->lock_word)' 'if (0)'
mutant frees_at_once eager abi/allocation.c \
    '.block = block, .release = release, .at_commit = true});' '.block = NULL}); release(block);'
mutant lazy_commits_without_validation lazy algorithms/lazy.c \
    'if (now != self->snapshot + 1 && !lock_table_reads_are_valid(self))' 'if (0)'
mutant unlocks_before_it_writes lazy algorithms/lazy.c \
    'self->writing_back = true;' "lock_table_release(self, now); self->writing_back = true; $pause"
mutant writes_whole_words lazy logs/write_set.c 'if (entry->mask >> byte * 8 & 1)' 'if (1)'
mutant does_not_see_its_own_writes lazy algorithms/lazy.c \
    'return write_set_overlay(self, from, size, value);' 'return value;'
mutant norec_does_not_compare norec algorithms/norec.c 'if (!reads_are_unchanged(self))' 'if (0)'
mutant norec_unlocks_before_it_writes norec algorithms/norec.c \
    'self->writing_back = true;' "release_sequence_lock(self); self->holds_sequence_lock = true; self->writing_back = true; $pause"
mutant serial_does_not_stop_others eager gate.c \
    'while (other != self && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != TM_INACTIVE)' 'while (0)'
exit "$lived"
