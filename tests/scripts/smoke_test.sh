#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace smoke" promises, with benchmarks that only write rows: what it makes of good and bad
# counts. The checks themselves, on real benchmarks, are a test of their own.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

# A processor whose transactions commit, and benchmarks whose rows are as they should be: cia elides,
# glibc does not at its bad sizes. SMOKE_BREAK, "PROGRAM MALLOC SIZE", names one run that is
# otherwise: it does what is in the file "broken" instead.
good_machine()
{
    private_build
    rm -f "$scratch"/build/bin/{ring,avltree,mplace-probe}
    printf '#!/bin/sh\necho usable\n' >"$scratch/build/bin/mplace-probe"
    cat >"$scratch/build/bin/ring" <<END
#!/bin/sh
name=\$(basename "\$0")
case \$LD_PRELOAD in *libcia*) malloc=cia ;; *) malloc=glibc ;; esac
unset LD_PRELOAD
echo "\$name \$malloc \$*" >>'$scratch/called'
for word; do
    [ "\$before" != --size ] || size=\$word
    before=\$word
done
row()
{
    echo "\$name,\$malloc,ttstle,\${htm:-native},\$size,1,1,1,1.0,x/s,64,2,1000,\$1,1000,1,\$2,\$3,\$4,\$5,here,Some CPU,2026-01-01T00:00:00Z,paper,park,,"
}
if [ "\$SMOKE_BREAK" = "\$name \$malloc \$size" ] && ! echo "\$*" | grep -q 'nodes 1 '; then
    . '$scratch/broken'
fi
case \$name,\$malloc,\$size in
ring,glibc,500 | ring,glibc,1008 | ring,glibc,2040 | ring,glibc,4080) row 1000 0 1000 0 0 ;;
*) row 3 1 1 0 1 ;;
esac
END
    cp "$scratch/build/bin/ring" "$scratch/build/bin/avltree"
    chmod +x "$scratch"/build/bin/{ring,avltree,mplace-probe}
}

# expect_failure RUN WHAT_IT_DOES CHECK TEXT LOOK_AT
expect_failure()
{
    export SMOKE_BREAK=$1
    echo "$2" >"$scratch/broken"
    run "$mplace" smoke
    expect "exit status with '$1'" 1 "$status"
    expect "the last but one line begins" "FAIL  $3" "$(tail -n 2 "$scratch/out" | head -n 1 | cut -c -$((6 + ${#3})))"
    tail -n 2 "$scratch/out" | head -n 1 | grep -qF -- "$4" || fail "'$4' is not said: $(tail -n 2 "$scratch/out")"
    expect "the last line begins" "      look at: " "$(tail -n 1 "$scratch/out" | cut -c -15)"
    tail -n 1 "$scratch/out" | grep -qF -- "$5" || fail "'$5' is not said: $(tail -n 1 "$scratch/out")"
    expect "checks that failed" 1 "$(grep -c '^FAIL' "$scratch/out")"
    [[ ! -s $scratch/err ]] || fail "more is said"
}

on_a_processor_a_ring_gets_more_than_one_try()
{
    good_machine
    export SMOKE_BREAK='ring cia 512'
    echo "if [ -e '$scratch/tried' ]; then row 3 1 1 0 1; else touch '$scratch/tried'; row 30 1 1 0 28; fi; exit" >"$scratch/broken"
    run "$mplace" smoke
    expect "exit status" 0 "$status"
    expect "runs at this size" 2 "$(grep -c '^ring cia .*--size 512 ' "$scratch/called")"
}

all_checks_passing_is_a_line_each_and_exit_0()
{
    good_machine
    run "$mplace" smoke
    expect "exit status" 0 "$status"
    expect "first line" "smoke: on this processor" "$(head -n 1 "$scratch/out")"
    expect "lines that are no passed check" "" "$(tail -n +2 "$scratch/out" | grep -v '^ok    ' || true)"
    expect "checks" 16 "$(grep -c '^ok' "$scratch/out")"
    for size in 64 500 512 1008 1024 2040 2048 4080 4096; do
        grep -qx "ok    ring, cia, nodes of $size B: 99.70 % elided" "$scratch/out" || fail "cia at $size B is not checked"
    done
    for size in 500 1008 2040 4080; do
        grep -q "^ok    ring, glibc, nodes of $size B.*: 0.00 % elided$" "$scratch/out" || fail "glibc at $size B is not checked"
    done
    grep -q '^avltree cia .*--threads 4' called || fail "the tree has not 4 threads"
    [[ ! -s $scratch/err ]] || fail "something is on standard error"
}

the_first_check_that_fails_ends_it_with_what_to_look_at()
{
    good_machine
    # The tries of a ring are some time apart.
    mkdir "$scratch/quick"
    ln -s "$(type -P true)" "$scratch/quick/sleep"
    PATH=$scratch/quick:$PATH
    expect_failure 'ring cia 1024' 'row 11 0 11 0 0; exit' 'ring, cia, nodes of 1024 B' \
        '98.90 % elided, 99 % wanted; aborts: 0 conflict, 11 capacity, 0 explicit, 0 other' '--malloc cia -- ring --size 1024 --sets'
    expect "what ran after it" "" "$(grep 'cia.*2040\|avltree' called || true)"
    expect_failure 'ring cia 64' 'row 500 0 1 0 499; exit' 'ring, cia, nodes of 64 B' '499 other' 'interrupts'
    expect_failure 'ring cia 64' 'row 500 2 1 497 0; exit' 'ring, cia, nodes of 64 B' '497 explicit' 'who holds the lock'
    expect_failure 'ring cia 64' 'row 1000 0 0 0 0; exit' 'ring, cia, nodes of 64 B' '0.00 % elided' 'why the lock did not try'
    expect_failure 'ring glibc 2040' 'row 499 0 0 0 0; exit' 'ring, glibc, nodes of 2040 B' '50.10 % elided all the same' 'ring --size 2040 --sets'
    expect_failure 'avltree cia 64' 'row 501 400 0 0 0; exit' 'AVL tree, cia, 4 threads' '49.90 % elided, 50 % wanted' 'what else writes'
    # 99 % itself is enough.
    export SMOKE_BREAK='ring cia 1024'
    echo 'row 10 0 10 0 0; exit' >broken
    run "$mplace" smoke
    expect "exit status at 99 %" 0 "$status"
}

a_tree_that_is_not_whole_fails()
{
    good_machine
    expect_failure 'avltree cia 64' 'echo "avltree: the tree is broken" >&2; exit 1' 'AVL tree, cia, 4 threads' \
        'exit status 1: avltree: the tree is broken' 'mplace run --malloc cia --lock ttstle --htm native -- avltree --size 64 --threads 4'
    expect_failure 'avltree glibc 64' 'row 3 1 1 0 1; exit 139' 'AVL tree, glibc, 4 threads' 'exit status 139' 'mplace run'
}

a_run_that_hangs_fails()
{
    good_machine
    mkdir "$scratch/bin"
    # Impatient with the run that hangs and with no other.
    cat >"$scratch/bin/timeout" <<END
#!/bin/sh
[ "\$1" = --kill-after=5 ] && [ "\$2" = 60 ] || exit 99
shift 2
case "\$*" in *cia*--size\ 64*) limit=0.3 ;; *) limit=60 ;; esac
exec $(type -P timeout) \$limit "\$@"
END
    chmod +x "$scratch/bin/timeout"
    PATH=$scratch/bin:$PATH expect_failure 'ring cia 64' 'exec sleep 50' 'ring, cia, nodes of 64 B' 'it did not end in 60 s' 'ring --size 64'
}

a_signal_ends_it_and_its_runs()
{
    good_machine
    export SMOKE_BREAK='ring cia 64'
    echo "touch '$scratch/begun'; sleep 50 & wait" >broken
    signalled INT "$mplace" smoke
    expect "exit status after INT" 130 "$status"
    signalled TERM "$mplace" smoke
    expect "exit status after TERM" 143 "$status"
    signalled HUP "$mplace" smoke
    expect "exit status after HUP" 129 "$status"
    expect "failures shown" "" "$(grep FAIL out || true)"
}

a_run_in_which_no_transaction_was_counted_fails()
{
    good_machine
    expect_failure 'ring cia 500' 'htm=none; row 1000 0 0 0 0; exit' 'ring, cia, nodes of 500 B' 'no transactions were counted' 'ring --size 500'
    expect_failure 'ring cia 500' 'malloc=glibc; row 3 0 0 0 0; exit' 'ring, cia, nodes of 500 B' 'no transactions were counted' 'ring --size 500'
    expect_failure 'ring cia 500' 'exit' 'ring, cia, nodes of 500 B' 'no transactions were counted' 'ring --size 500'
    printf '#!/bin/sh\necho always-abort\n' >"$scratch/build/bin/mplace-probe"
    run "$mplace" smoke --htm native
    expect "exit status" 1 "$status"
    grep -q '^FAIL  transactions commit: RTM is always-abort' "$scratch/out" || fail "got: $(cat "$scratch/out")"
}

without_transactions_and_emulator_it_is_one_line_and_exit_77()
{
    good_machine
    printf '#!/bin/sh\necho absent\n' >"$scratch/build/bin/mplace-probe"
    run "$mplace" smoke
    expect "exit status" 77 "$status"
    expect "lines" 1 "$(wc -l <"$scratch/err")"
    grep -q 'nothing to check with: RTM is absent on this processor, and there is no emulator' "$scratch/err" || fail "why is not said"
    [[ ! -s $scratch/out ]] || fail "something is on standard output"
    run "$mplace" smoke --htm emulated
    expect_refusal "is not built"
}

what_cannot_be_printed_is_one_line_and_exit_2()
{
    good_machine
    run bash -c '"$0" smoke >/dev/full' "$mplace"
    expect_refusal "mplace smoke: standard output cannot be written"
}

bad_options_are_one_line_and_exit_2()
{
    run "$mplace" smoke --htm none
    expect_refusal "unknown --htm 'none'"
    run "$mplace" smoke --fast
    expect_refusal "unknown option '--fast'"
    run "$mplace" smoke --l1d
    expect_refusal "needs a value"
    good_machine
    rm "$scratch/build/lib/libcia_malloc.so"
    run "$mplace" smoke
    expect_refusal "libcia_malloc.so is missing"
    rm "$scratch/build/bin/ring"
    run "$mplace" smoke
    expect_refusal "ring is missing"
}

run_claim
