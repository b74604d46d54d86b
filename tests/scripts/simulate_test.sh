#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace simulate" and "mplace machines" promise.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

need_trace()
{
    need_simulator
    need_memtrace
    run "$mplace" trace --out tree.mptrace -- \
        "$build_folder/bin/avltree" --size 64 --threads "${1:-2}" --operations 20 --keys 32
    expect "exit status of mplace trace" 0 "$status"
}

bad_input_is_one_line_and_exit_2()
{
    need_trace
    run "$mplace" simulate
    expect_refusal "which trace"
    run "$mplace" simulate --machine flask17 tree.mptrace
    expect_refusal "did you mean 'flask16'"
    run "$mplace" simulate --set core.number=3 tree.mptrace
    expect_refusal "there is no key 'core.number'"
    run "$mplace" simulate --set llc.banks=12 tree.mptrace
    expect_refusal "a power of two"
    run "$mplace" simulate --set l2.size=300000 tree.mptrace
    expect_refusal "l2.size = 300000"
    run "$mplace" simulate --set llc.size=16777231 tree.mptrace
    expect_refusal "llc.size = 16777231"
    echo "colour = red" >bad.machine
    run "$mplace" simulate --machine bad.machine tree.mptrace
    expect_refusal "bad.machine, line 1: there is no key 'colour'"
    run "$mplace" simulate missing.mptrace
    expect_refusal "missing.mptrace"
    run "$mplace" simulate bad.machine
    expect_refusal "bad.machine"
    bytes=$(stat -c %s tree.mptrace)
    for at in $((bytes * 2 / 3)) $((bytes - 100)) $((bytes - 1)); do
        head -c "$at" tree.mptrace >cut.mptrace
        run "$mplace" simulate cut.mptrace
        expect_refusal "mplace simulate: cut.mptrace: the file is cut at byte $at"
    done
    run "$mplace" simulate tree.mptrace -- true
    expect_refusal "traces, or -- and a program, but not both"
    head -c 1000 tree.mptrace >cut.mptrace
    run "$mplace" simulate tree.mptrace cut.mptrace
    expect_refusal "mplace simulate: cut.mptrace: the file is cut at byte 1000"
    run "$mplace" machines bad.machine
    expect_refusal "mplace machines: bad.machine, line 1: there is no key 'colour'"
    run "$mplace" simulate --machine loc --power-cuts 10 tree.mptrace
    expect_refusal "no transaction of tree.mptrace stores"
    run "$mplace" simulate --machine loc --power-cuts 2305843009213693953 tree.mptrace
    expect_refusal "from 1 to 1000000000"
    run "$mplace" simulate --sweep core.window tree.mptrace
    expect_refusal "--sweep"
    run "$mplace" simulate --sweep core.window=1,2 --sweep core.window=3,4 tree.mptrace
    expect_refusal "--sweep core.window: it is swept already"
    run "$mplace" simulate --set memory.part=ddr9 tree.mptrace
    expect_refusal "ddr2-800"
    run "$mplace" simulate --set memory.model=dram --set "memory.bank_bits=13 14" tree.mptrace
    expect_refusal "memory.banks = 8 needs 3"
    run "$mplace" simulate --sweep memory.part=ddr2-800,ddr9 tree.mptrace
    expect_refusal "ddr9"
}

# unchanged FILE COMMAND...: refuses to replace the file, which it reads.
unchanged()
{
    cp -- "$1" before
    run "$mplace" "${@:2}"
    expect_refusal "is what is read"
    cmp -s -- "$1" before || fail "$1 was replaced"
}

a_result_never_replaces_what_is_read()
{
    need_trace
    ln tree.mptrace another.name
    unchanged tree.mptrace simulate --json tree.mptrace tree.mptrace
    unchanged tree.mptrace simulate --json another.name tree.mptrace
    echo "core.count = 4" >own.machine
    unchanged own.machine simulate --json own.machine --machine ./own.machine tree.mptrace
    cp /bin/true program
    ln -s program link
    unchanged program simulate --json program -- ./program
    unchanged program trace --out program -- ./program
    unchanged program trace --out link -- ./program
}

a_trace_that_is_refused_leaves_an_earlier_result_as_it_was()
{
    local arguments

    need_trace
    cp tree.mptrace damaged.mptrace
    # In the last quarter, whose blocks are read when much has been simulated.
    printf 'damage' | dd of=damaged.mptrace bs=1 seek="$(($(stat -c %s tree.mptrace) * 3 / 4))" conv=notrunc status=none
    for arguments in nosuch damaged.mptrace "--sweep core.window=1,2 damaged.mptrace"; do
        echo kept >kept.json
        # shellcheck disable=SC2086 # words
        run "$mplace" simulate --json kept.json $arguments
        expect "exit status of $arguments" 2 "$status"
        expect "the file after $arguments" kept "$(<kept.json)"
    done
    run "$mplace" simulate --json new.json nosuch
    [[ ! -e new.json ]] || fail "a file was made"
    run "$mplace" simulate --json /dev/full tree.mptrace
    expect "exit status with a full disk" 2 "$status"
}

what_cannot_be_written_is_one_line_and_exit_2()
{
    local arguments

    need_trace
    for arguments in tree.mptrace "--sweep core.window=1,2 tree.mptrace" --keys --help --version; do
        status=0
        # shellcheck disable=SC2086 # words
        "$build_folder/bin/mplace-chip" $arguments >/dev/full 2>"$scratch/err" || status=$?
        expect "exit status of $arguments" 2 "$status"
        expect "what $arguments says" "mplace $([[ $arguments == --keys ]] && echo machines || echo simulate): standard output: No space left on device" \
            "$(<"$scratch/err")"
    done
}

a_trace_whose_name_begins_as_an_option_is_dumped()
{
    need_trace
    mv tree.mptrace ./-tree.mptrace
    run "$mplace" trace --dump -tree.mptrace --count 1
    expect "exit status" 0 "$status"
    [[ -s out ]] || fail "nothing is printed"
}

a_program_that_would_run_without_the_allocator_is_not_traced_under_it()
{
    need_memtrace
    need_static_program
    run "$mplace" trace --malloc cia --out static.mptrace -- ./static
    expect_refusal "./static is statically linked: nothing can be preloaded into it"
    [[ ! -e static.mptrace ]] || fail "a trace was begun"
}

more_threads_than_cores_take_turns_which_is_said_in_one_line()
{
    need_trace 6
    run "$mplace" simulate --machine quad tree.mptrace
    expect "exit status" 0 "$status"
    expect "standard error" "mplace simulate: 7 threads on 4 cores: those of a core take turns" "$(<"$scratch/err")"
    run "$mplace" simulate --machine quad --sweep core.count=2,4 --sweep core.window=1,2,4 tree.mptrace
    expect "standard error of a sweep, once for each number of cores" \
        "mplace simulate: 7 threads on 2 cores: those of a core take turns
mplace simulate: 7 threads on 4 cores: those of a core take turns" "$(sort "$scratch/err")"
}

each_protocol_replays_a_real_trace_without_a_finding()
{
    local protocol

    need_trace 4
    for protocol in sparse token flask; do
        run "$mplace" simulate --check --set "coherence.protocol=$protocol" --set coherence.directory=5 tree.mptrace
        expect "exit status of $protocol: $(<"$scratch/err")" 0 "$status"
        grep -q "^Simulated: .* protocol $protocol" "$scratch/out" || fail "no report of $protocol"
    done
}

the_json_has_the_fixed_keys_for_all_cores_and_for_each()
{
    need_trace
    run "$mplace" simulate --json result.json tree.mptrace
    expect "exit status" 0 "$status"
    python3 - result.json <<'END' >"$scratch/out" || fail "$(<"$scratch/out")"
import json, sys

KEYS = """cycles accesses l1_hits l2_hits llc_hits memory_reads coherence_misses average_latency messages flit_hops
snoops multicasts directory_allocations directory_evictions directory_invalidations reconstructions
filter_true_positives filter_false_positives filter_overflows energy_pj edp""".split()
result = json.load(open(sys.argv[1], encoding="utf-8"))
for one in [result] + result["cores"]:
    missing = [key for key in KEYS if key not in one]
    if missing:
        sys.exit(f"missing: {missing}")
for key in ("accesses", "messages", "memory_reads", "snoops"):
    if result[key] != sum(core[key] for core in result["cores"]):
        sys.exit(f"{key}: the cores do not add up")
if len(result["cores"]) != 16 or result["simulated"] is not True:
    sys.exit("not 16 cores, or not simulated")
END
}

# A machine file outside of the folder of the machines, which names a part.
the_json_of_dram_has_its_controllers_which_add_up_to_the_cores()
{
    need_trace
    printf 'memory.part = ddr4-3200\nmemory.model = dram\nmemory.controllers = 2\n' >own.machine
    run "$mplace" simulate --check --machine own.machine --json result.json tree.mptrace
    expect "exit status: $(<"$scratch/err")" 0 "$status"
    python3 - result.json <<'END' >"$scratch/out" || fail "$(<"$scratch/out")"
import json, sys

KEYS = ["memory_writes", "row_hits", "row_misses", "row_conflicts"]
result = json.load(open(sys.argv[1], encoding="utf-8"))
for key in KEYS + ["memory_reads"]:
    cores, controllers = (sum(one[key] for one in result[part]) for part in ("cores", "controllers"))
    if not result[key] == cores == controllers:
        sys.exit(f"{key}: {result[key]}, of the cores {cores}, of the controllers {controllers}")
if sum(result[key] for key in KEYS[1:]) != result["memory_reads"] + result["memory_writes"]:
    sys.exit("not every access found its row in one of three states")
if len(result["controllers"]) != 2 or min(one["average_latency"] for one in result["controllers"]) <= 0:
    sys.exit("not two controllers that took time")
END
    run "$mplace" simulate --json result.json tree.mptrace
    ! grep -q 'controllers\|row_' result.json || fail "the simple memory has rows"
}

a_sweep_is_the_single_runs()
{
    local single swept

    need_trace
    run "$mplace" simulate --json sweep.json --sweep coherence.protocol=sparse,flask --sweep core.window=1,8 tree.mptrace
    expect "exit status" 0 "$status"
    run "$mplace" simulate --json single.json --set coherence.protocol=flask --set core.window=1 tree.mptrace
    single=$(python3 -c 'import json; print(json.load(open("single.json")))')
    swept=$(python3 -c 'import json; runs = json.load(open("sweep.json")); print(len(runs), runs[2]["result"])')
    expect "the third of four runs" "4 $single" "$swept"
}

# A limit of memory that the first run's last level does not fit into.
a_sweep_whose_first_run_fails_writes_the_others_as_json()
{
    need_trace
    run bash -c 'ulimit -v 400000 && exec "$@"' - "$build_folder/bin/mplace-chip" --json sweep.json \
        --sweep llc.size=1073741824,16777216,8388608 tree.mptrace
    expect "exit status" 1 "$status"
    grep -q 'out of memory' "$scratch/err" || fail "the first run did not fail: $(<"$scratch/err")"
    expect "the runs in the file" "['16777216', '8388608']" \
        "$(python3 -c 'import json; print([run["settings"]["llc.size"] for run in json.load(open("sweep.json"))])')"
}

a_program_is_traced_and_simulated()
{
    need_trace
    run "$mplace" simulate --machine quad -- \
        "$build_folder/bin/avltree" --size 64 --threads 2 --operations 20 --keys 32
    expect "exit status" 0 "$status"
    grep -q 'integrity' "$scratch/out" || fail "the program's output is missing"
    grep -q '^Simulated: 4 cores' "$scratch/out" || fail "no report"
}

a_signal_ends_it_and_what_it_runs()
{
    need_simulator
    need_memtrace
    mkfifo never
    signalled TERM "$mplace" simulate -- sh -c 'touch begun; read -r line <never'
    expect "exit status after TERM" 143 "$status"
    signalled HUP "$mplace" simulate -- sh -c 'touch begun; read -r line <never'
    expect "exit status after HUP" 129 "$status"
    # What it records must be read to the end, or it waits in vain.
    to=group signalled HUP "$mplace" simulate -- sh -c ': >begun; while :; do :; done'
    expect "exit status after HUP to all" 129 "$status"
    private_build
    rm build/bin/mplace-chip
    printf '#!/bin/sh\ntouch begun\nexec sleep 50\n' >build/bin/mplace-chip
    chmod +x build/bin/mplace-chip
    signalled TERM "$mplace" simulate any.mptrace
    expect "exit status after TERM while it simulates" 143 "$status"
    signalled INT "$mplace" simulate any.mptrace
    expect "exit status after INT while it simulates" 130 "$status"
}

an_interrupted_program_is_simulated_up_to_there()
{
    need_simulator
    need_memtrace
    # Not a shell, which catches INT, perhaps just before it begins to wait.
    # shellcheck disable=SC2016 # Perl's
    signalled INT "$mplace" simulate -- perl -e 'open my $file, ">", "begun"; close $file; sleep 100'
    expect "exit status" 0 "$status"
    grep -q 'the program ended with status 130; what it did until then is simulated' err || fail "it is not said"
    grep -q '^Simulated: ' out || fail "nothing is simulated"
}

one_core_alone_has_the_misses_of_cachegrind()
{
    local expected

    need_simulator
    need_memtrace
    run valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null \
        --D1=32768,4,64 --LL=8388608,16,64 /bin/true
    [[ $status -eq 0 ]] || skip "cachegrind does not run"
    # ==1== D1  misses: 1,234  ( 1,000 rd + 234 wr)
    expected=$(sed -n 's/^.*D1  misses: *\([0-9,]*\) .*/\1/p' "$scratch/err" | tr -d ,)
    run "$mplace" simulate --set core.count=1 --json result.json -- /bin/true
    expect "exit status" 0 "$status"
    python3 -c '
import json, sys
result = json.load(open("result.json"))
misses, expected = result["accesses"] - result["l1_hits"], int(sys.argv[1])
if abs(misses - expected) > expected // 50:
    sys.exit(f"{misses} misses, cachegrind has {expected}")' "$expected" 2>"$scratch/err" || fail "too far apart"
}

machines_are_listed_and_explained()
{
    local file name

    need_simulator
    run "$mplace" machines
    for file in "$source_folder"/sim/chip/machines/*.machine; do
        name=${file##*/}
        grep -q "^${name%.machine} .*[a-z]" "$scratch/out" || fail "$name is not listed"
    done
    run "$mplace" machines quad
    expect "exit status" 0 "$status"
    cp "$scratch/out" again.machine
    run "$mplace" machines again.machine
    expect "the output as a machine file" "$(<again.machine)" "$(<"$scratch/out")"
    run "$mplace" machines tilepro64
    grep -q '^memory.tRP  *= 5 ' "$scratch/out" || fail "tilepro64 has not the timings of its part"
    cp "$scratch/out" again.machine
    run "$mplace" machines again.machine
    expect "the output as a machine file, with a part" "$(<again.machine)" "$(<"$scratch/out")"
    run "$mplace" machines quat
    expect_refusal "did you mean 'quad'"
}

# shellcheck disable=SC2016 # these are no variables
the_document_has_the_keys_of_the_program()
{
    need_simulator
    "$mplace" machines --keys |
        sed 's/^\([^ ]*\) *= \([^ ]*\) *# \(.*\); \([^;]*\)$/| `\1` | \2 | \4 | \3 |/' >keys
    grep -E '^\| `[A-Za-z0-9_.]+` \|' "$source_folder/docs/simulation.md" >document
    expect "differences" "" "$(diff keys document || true)"
}

run_claim
