#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What "mplace dram" promises: on a simulated memory, whose map is known, and on this machine, where it may be told
# nothing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$0")/scripts_common.bash"

functions_of()
{
    grep -v '^#' "$1"
}

the_map_of_a_simulated_memory_is_written()
{
    run "$mplace" dram --simulate sandybridge
    expect "exit status" 0 "$status"
    expect "functions" $'14 18\n15 19\n16 20\n17 21' "$(functions_of "$scratch/out")"
    grep -q '^# Found by mplace dram (mplace [0-9.]*) on a simulated memory, seed 1: 16 banks\.$' "$scratch/out" ||
        fail "the head does not say where the map is from"
    grep -qx '# A function of other bits than these could not be seen: 6-29' "$scratch/out" || fail "no bits"
    grep -q '^mplace dram: a simulated memory has 16 banks (4 functions)\. ' "$scratch/err" || fail "no summary"
    expect "lines on standard error" 1 "$(wc -l <"$scratch/err")"
}

the_map_that_was_written_is_a_map_file()
{
    run "$mplace" dram --simulate jetson-orin-agx --out map.txt --quiet
    expect "exit status" 0 "$status"
    expect "standard output and error" "" "$(cat "$scratch/out" "$scratch/err")"
    run "$mplace" dram --simulate ./map.txt --quiet
    expect "exit status with it" 0 "$status"
    expect "functions" "$(functions_of map.txt)" "$(functions_of "$scratch/out")"
    run "$mplace" dram --simulate ./map.txt --quiet --seed 7
    expect "functions with another seed" "$(functions_of map.txt)" "$(functions_of "$scratch/out")"
    grep -q ', seed 7: 256 banks' "$scratch/out" || fail "the seed is not named"
}

the_map_never_replaces_the_one_that_is_simulated()
{
    run "$mplace" dram --simulate raspberrypi4 --quiet --out map.txt
    cp map.txt before
    run "$mplace" dram --simulate ./map.txt --quiet --out map.txt
    expect_refusal "map.txt is what is read"
    cmp -s map.txt before || fail "the map was replaced"
    cp map.txt raspberrypi4
    run "$mplace" dram --simulate raspberrypi4 --quiet --out raspberrypi4
    expect "exit status where the map comes with mplace" 0 "$status"
}

bad_options_are_one_line_and_exit_2()
{
    run "$mplace" dram --simulate skylake-2channel
    expect_refusal "did you mean 'skylake-2channels'"
    printf '14 18\n14 x\n' >bad.txt
    run "$mplace" dram --simulate bad.txt
    expect_refusal "bad.txt:2: 'x' is no bit of an address"
    run "$mplace" dram --simulate .
    expect_refusal "--simulate"
    head -c 20000 /dev/zero | tr '\0' '#' >large.txt
    run "$mplace" dram --simulate large.txt
    expect_refusal "large.txt is too large for a map"
    run "$mplace" dram --simulate raspberrypi4 --quiet --out missing/map.txt
    expect_refusal "missing/map.txt cannot be written"
    run "$mplace" dram --simulate raspberrypi4 --quiet --out /dev/full
    expect_refusal "/dev/full: No space left on device"
    run "$mplace" dram --pool 15M
    expect_refusal "--pool '15M' is not a size from 16M to 1024G"
    run "$mplace" dram --pool 1024G
    expect_refusal "of memory that are available"
    run "$mplace" dram --seed x
    expect_refusal "--seed 'x'"
    run "$mplace" dram map.txt
    expect_refusal "map.txt"
}

# Whatever this machine is, it is told the map or in one line why not.
this_machine_tells_its_banks_or_why_it_does_not()
{
    run "$mplace" dram --pool 64M --out map.txt
    expect "lines on standard error" 1 "$(wc -l <"$scratch/err")"
    case $status in
    0) grep -q '^[0-9]' map.txt || fail "a map without functions" ;;
    1)
        grep -q '^mplace dram: this machine does not tell its banks: ' "$scratch/err" || fail "no reason"
        [[ ! -e map.txt ]] || fail "a map was written"
        ;;
    *) fail "exit status $status" ;;
    esac
}

without_the_right_to_physical_addresses_it_says_so()
{
    local drop=()

    if [[ $EUID -eq 0 ]]; then
        type -P setpriv >/dev/null || skip "setpriv is not installed"
        setpriv --bounding-set -all --inh-caps -all true 2>/dev/null || skip "rights cannot be given away"
        drop=(setpriv --bounding-set -all --inh-caps -all)
    fi
    run "${drop[@]}" "$mplace" dram --pool 16M
    expect "exit status" 1 "$status"
    grep -qE '^mplace dram: this machine does not tell its banks: (the kernel hides physical|physical addresses cannot).*CAP_SYS_ADMIN$' \
        "$scratch/err" || fail "not said"
}

# shellcheck disable=SC2016 # these are no variables
the_document_has_the_maps_that_come_along()
{
    sed -n 's/^| `\([a-z0-9-]*\)` |.*/\1/p' "$source_folder/docs/dram-maps.md" >document
    "$build_folder/bin/mplace-dram-probe" --maps >maps
    expect "differences" "" "$(diff maps document || true)"
    expect "completion" "skylake-2channels skylake-i5-6200u skylake-e3-1220v5" \
        "$("$mplace" complete dram --simulate sky | paste -sd' ')"
}

run_claim
