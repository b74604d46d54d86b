#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Takes one rule after the other out of the algorithms, builds libtm_runtime.so without it, and runs
# the random transactions, or the test that it is about, until one notices. Exit status 1 if a mutant
# lives.
# usage: mutants.sh SOURCE BUILD [MUTANT...]
# SOURCE: the tree; BUILD: where the programs of tests/tm and the library of src/base are built.
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
random=("$build/tests/tm_random" 1 "$seeds")
test=("${random[@]}")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mplace-mutants.XXXXXXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
lived=0

# compile: $scratch/src to $scratch/libtm_runtime.so.
compile()
{
    gcc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -D_GNU_SOURCE -Wno-psabi \
        -I"$scratch/src" -I"$source/src" -I"$source/include" -o "$scratch/libtm_runtime.so" \
        "$scratch"/src/tm_runtime/*.[cS] "$scratch"/src/tm_runtime/*/*.c "$source/src/ttstle_lock/rtm/rtm_probe.c" \
        -Wl,--version-script="$scratch/src/tm_runtime/tm_runtime.map" "$build/obj/libmplace_base.a" -ldl
}

# notices ALGORITHM: whether the test fails, or hangs.
notices()
{
    ! TM_ALGORITHM=$1 TM_ALONE=0 MALLOC_PERTURB_=165 LD_PRELOAD="$scratch/libtm_runtime.so" \
        timeout 120 "${test[@]}" 2>"$scratch/said"
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
# More of them run alone.
test=(env TM_CONTENTION=serialise "${random[@]}")
mutant serial_does_not_stop_others eager gate.c \
    'while (other != self && __atomic_load_n(&other->state, __ATOMIC_ACQUIRE) != TM_INACTIVE)' 'while (0)'
test=("${random[@]}")
mutant norec_begins_while_another_writes norec algorithms/norec.c '& ~UINT64_C(1);' ';'
test=("$build/tests/tm_conflicts" memory_is_freed_when_no_transaction_can_read_it)
for algorithm in lazy norec; do
    mutant "${algorithm}_does_not_wait_for_readers" $algorithm transaction.c 'if (time > self->quiesced)' 'if (0)'
done
test=("$build/tests/tm_conflicts" what_a_reader_finds_private_is_written_to_by_no_other)
mutant does_not_wait_after_reads eager algorithms/eager.c '*time = self->snapshot;' '*time = 0;'
test=("$build/tests/tm_private_memory" what_functions_do_to_a_new_block_is_seen_at_once)
mutant buffers_its_own_blocks lazy actions.c 'return !self->algorithm->buffers ||' 'return 1 ||'
test=("$build/tests/tm_private_memory" a_block_between_new_ones_is_left_alone_until_the_commit)
mutant takes_a_range_for_its_blocks lazy logs/private_blocks.h 'private_blocks_find(self, address);' '1;'
test=("$build/tests/tm_conflicts" what_functions_keep_on_the_stack_is_no_conflict)
mutant compares_dead_frames norec algorithms/norec.c '|| is_private(self, from)' ''
test=("$build/tests/tm_exceptions" 1 100)
mutant frees_exceptions_with_their_handlers eager abi/exceptions.c 'if (ours != NULL)' 'if (0 && ours != NULL)'
test=(env TM_CONTENTION=hourglass "$build/tests/tm_conflicts" hourglass_lets_no_other_begin_after_128_aborts_in_a_row)
mutant hourglass_lets_others_begin eager gate.c \
    '__atomic_fetch_or(&gate.word, GATE_HOURGLASS, __ATOMIC_SEQ_CST);' ''
test=(env TM_CONTENTION=serialise "$build/tests/tm_conflicts" serialise_runs_a_transaction_alone_after_100_aborts_in_a_row)
mutant never_serialises eager contention.c 'self->serial_reason = TM_SERIAL_ABORTS;' ';'
test=("$build/tests/tm_life" the_child_of_a_fork_sees_no_half_of_a_transaction)
mutant begins_alone_while_another_forks serial gate.c 'while (forks_stop(' 'while (0 && forks_stop('
exit "$lived"
