#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# mplace calibrate: what it measures is what the emulator was told to be, and the figure shows it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=scripts_common.bash
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/scripts_common.bash"

need_emulator()
{
    if [[ ! -x $build_folder/lib/mplace/valgrind/rtmgrind-amd64-linux ]] || ! command -v valgrind >/dev/null; then
        echo "the emulator is not built: not tried"
        exit 77
    fi
}

measure()
{
    run "$mplace" calibrate --htm emulated "$@"
    expect "exit status" 0 "$status"
}

# aborted FILE SERIES X: how many of a point's attempts aborted, and for which cause: "20 capacity"
aborted()
{
    awk -F, -v s="$2" -v x="$3" '$1 == s && $2 == x {
        cause = "-"
        if ($6 > 0 && $6 == $3 - $4) cause = "capacity"
        if ($8 > 0 && $8 == $3 - $4) cause = "other"
        print $3 - $4, cause}' "$1"
}

the_write_set_is_that_of_the_model()
{
    need_emulator
    measure --l1d haswell --attempts 5 --out haswell.csv
    measure --l1d icelake --attempts 5 --out icelake.csv
    expect "8 lines in one of 8 ways" "0 -" "$(aborted haswell.csv lines_in_one_set 8)"
    expect "9 lines in one of 8 ways" "5 capacity" "$(aborted haswell.csv lines_in_one_set 9)"
    expect "12 lines in one of 12 ways" "0 -" "$(aborted icelake.csv lines_in_one_set 12)"
    expect "13 lines in one of 12 ways" "5 capacity" "$(aborted icelake.csv lines_in_one_set 13)"
    expect "512 lines in 64x8" "0 -" "$(aborted haswell.csv lines_written 512)"
    expect "544 lines in 64x8" "5 capacity" "$(aborted haswell.csv lines_written 544)"
}

loads_push_a_store_out_but_not_one_that_comes_last()
{
    need_emulator
    measure --l1d 64x8 --l2 512x8 --attempts 5 --out small.csv
    expect "256 lines after a store" "0 -" "$(aborted small.csv loads_after_store 256)"
    expect "1024 lines after a store" "5 capacity" "$(aborted small.csv loads_after_store 1024)"
    expect "2048 lines before a store" "0 -" "$(aborted small.csv loads_before_store 2048)"
    expect "16384 lines before a store" "5 capacity" "$(aborted small.csv loads_before_store 16384)"
}

interrupts_abort_long_transactions_for_no_cause()
{
    local few many

    need_emulator
    measure --interrupt-rate 3000 --attempts 20 --out interrupts.csv
    read -r few _ <<<"$(aborted interrupts.csv duration 16)"
    many=$(aborted interrupts.csv duration 98304)
    [[ $few -le 3 ]] || fail "$few of 20 short transactions aborted"
    expect "long transactions" "20 other" "$many"
}

a_figure_compares_several_results()
{
    need_emulator
    command -v gnuplot >/dev/null || { echo "gnuplot is not installed: not tried"; exit 77; }
    measure --l1d haswell --attempts 2 --out one.csv
    measure --l1d icelake --attempts 2 --out two.csv
    run "$mplace" calibrate --figure "$scratch/both" one.csv two.csv
    expect "exit status" 0 "$status"
    grep -q 'one: emulated, 64x8' both.svg || fail "the first is not in the legend"
    grep -q 'two: emulated, 64x12' both.svg || fail "the second is not in the legend"
    grep -q 'Lines loaded after one store' both.svg || fail "a panel is missing"
    expect "a PNG" 'PNG' "$(head -c 4 both.png | tail -c 3)"
}

a_cache_of_one_set_is_measured_to_an_end()
{
    need_emulator
    measure --l1d 1x2 --attempts 2 --out one.csv
    expect "points over all sets" "1 2 3 4" "$(awk -F, '$1 == "lines_written" {print $2}' one.csv | paste -sd' ')"
}

a_row_that_no_measurement_can_have_is_drawn_by_nobody()
{
    local row wrong

    row=duration,16,20,20,0,0,0,0,emulated,64x8,somewhere,Some\ CPU,2026-01-01T00:00:00Z
    for wrong in "${row/duration/bogus}" "${row/20,20/20,21}" "${row%,*}"; do
        printf '%s\n' series,x,attempts,committed,conflict,capacity,explicit,other,htm,l1d,host,cpu,date \
            "$wrong" >wrong.csv
        run "$mplace" calibrate --figure "$scratch/x" wrong.csv
        expect_refusal "wrong.csv has a malformed row"
    done
    printf '%s\n%s' series,x,attempts,committed,conflict,capacity,explicit,other,htm,l1d,host,cpu,date \
        "$row" >wrong.csv
    run "$mplace" calibrate --figure "$scratch/x" wrong.csv
    expect_refusal "wrong.csv ends within a row"
    run "$mplace" calibrate --htm emulated --figure "$scratch/x" wrong.csv
    expect_refusal "of the other options it takes none"
    [[ ! -e x.svg && ! -e x.png ]] || fail "something was drawn"
}

a_file_with_an_equals_sign_in_its_name_is_drawn()
{
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
    cat >a=b.csv <<'END'
series,x,attempts,committed,conflict,capacity,explicit,other,htm,l1d,host,cpu,date
duration,16,20,20,0,0,0,0,emulated,64x8,somewhere,Some CPU,2026-01-01T00:00:00Z
END
    run "$mplace" calibrate --figure "$scratch/one" a=b.csv
    expect "exit status" 0 "$status"
    grep -q 'a=b: emulated, 64x8' one.svg || fail "it is not in the legend"
}

bad_arguments_are_one_line_and_exit_2()
{
    : >there.csv
    echo nonsense >wrong.csv
    run "$mplace" calibrate
    expect_refusal "where to?"
    run "$mplace" calibrate --out there.csv
    expect_refusal "there already"
    run "$mplace" calibrate --out "$scratch/no/such.csv"
    expect_refusal "no folder"
    run "$mplace" calibrate --frobnicate --out a.csv
    expect_refusal "unknown option '--frobnicate'"
    run "$mplace" calibrate --htm perhaps --out a.csv
    expect_refusal "unknown --htm 'perhaps'"
    run "$mplace" calibrate --figure x
    expect_refusal "which files?"
    run "$mplace" calibrate --figure x wrong.csv
    expect_refusal "no result of mplace calibrate"
    [[ ! -e a.csv && ! -e x.svg ]] || fail "something was written"
}

a_signal_ends_it_and_its_program()
{
    private_build
    rm build/bin/mplace-probe build/bin/calibrate
    printf '#!/bin/sh\necho usable\n' >build/bin/mplace-probe
    printf '#!/bin/sh\ntouch begun\nexec sleep 50\n' >build/bin/calibrate
    chmod +x build/bin/mplace-probe build/bin/calibrate
    signalled TERM "$mplace" calibrate --out new.csv
    expect "exit status after TERM" 143 "$status"
    signalled INT "$mplace" calibrate --out new.csv
    expect "exit status after INT" 130 "$status"
    [[ ! -e new.csv ]] || fail "something was written"
}

a_bad_model_is_one_line_and_nothing_is_written()
{
    need_emulator
    run "$mplace" calibrate --htm emulated --l1d bad --out a.csv
    expect_refusal "'bad' is not SETSxWAYS"
    run "$mplace" calibrate --htm emulated --replacement never --out a.csv
    expect_refusal "not lru or tree"
    run "$mplace" calibrate --htm emulated --attempts 0 --out a.csv
    expect_refusal "--attempts"
    [[ ! -e a.csv ]] || fail "something was written"
}

run_claim
