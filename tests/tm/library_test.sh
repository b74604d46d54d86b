#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What libtm_runtime.so promises as a preloaded library.
# usage: library_test.sh LIBRARY PROGRAM CLAIM
# PROGRAM has transactions. CLAIM: a function below. Exit status: 0 it holds, 1 it does not, 77 this
# machine cannot tell.
set -euo pipefail

[[ $# -eq 3 ]] || {
    echo "usage: library_test.sh LIBRARY PROGRAM CLAIM" >&2
    exit 2
}
library=$(readlink -f -- "$1")
program=$2
claim=$3
unset LD_PRELOAD "${!TM_@}"

fail()
{
    echo "$claim: $*" >&2
    exit 1
}

exports() # FILE
{
    nm -D --defined-only --with-symbol-versions "$1" | awk '$2 == "T" { print $3 }' | sort
}

it_exports_the_names_and_versions_of_libitm_dlopen_and_no_more()
{
    local libitm difference
    libitm=$(ldd "$program" | awk '$1 == "libitm.so.1" { print $3 }')
    [[ -n $libitm ]] || exit 77
    difference=$(diff <({
        exports "$libitm"
        printf '%s\n' dlmopen dlopen
    } | sort) <(exports "$library")) || fail "$difference"
}

programs_call_it_and_not_libitm()
{
    local bound
    bound=$(LD_DEBUG=bindings LD_BIND_NOW=1 LD_PRELOAD=$library "$program" 2>&1 |
        grep -E "file $program .*_ITM_" || true)
    [[ -n $bound ]] || fail "the program calls no _ITM_ function"
    ! grep -v "to $library " <<<"$bound" || fail "these are another library's"
}

a_program_without_transactions_is_left_alone()
{
    local said
    said=$(env TM_STATS=1 LD_PRELOAD="$library" /bin/sh -c 'echo out' 2>&1)
    [[ $said == out ]] || fail "$said"
}

# What takes membarrier away lies beside the program.
a_program_without_transactions_makes_no_system_call_for_them()
{
    LD_PRELOAD=$library "$(dirname -- "$program")/tm_without_membarrier" kill /bin/true || {
        [[ $? -ne 77 ]] || exit 77
        fail "it asks for membarrier"
    }
}

transactions_need_no_membarrier()
{
    LD_PRELOAD=$library "$(dirname -- "$program")/tm_without_membarrier" refuse "$program" || {
        [[ $? -ne 77 ]] || exit 77
        fail "the program fails"
    }
}

a_bad_setting_is_one_line_that_says_what_is_allowed()
{
    local said
    told() # LINE NAME=VALUE
    {
        said=$(env "$2" LD_PRELOAD="$library" /bin/true 2>&1)
        [[ $said == "$1" ]] || fail "$2: $said"
    }
    told '' TM_ALGORITHM=norec
    told 'mplace: TM_ALGORITHM=tl2 is not allowed (eager|lazy|norec|serial|htm); using eager' TM_ALGORITHM=tl2
    told 'mplace: TM_CONTENTION=1 is not allowed (none|backoff|hourglass|serialise); using backoff' TM_CONTENTION=1
    told 'mplace: TM_SERIAL_LOCK=x is not allowed (membarrier|rwlock); using membarrier' TM_SERIAL_LOCK=x
    told 'mplace: TM_ALONE=2 is not allowed (0|1); using 1' TM_ALONE=2
    told 'mplace: TM_ALGORITM=lazy has no effect: it is no setting; did you mean TM_ALGORITHM?' TM_ALGORITM=lazy
}

cxx_in_a_transaction_without_libstdcxx_is_one_line()
{
    local said
    said=$(LD_PRELOAD=$library "$(dirname -- "$program")/tm_open_cxx" 2>&1) && fail "it goes on"
    [[ $said == 'mplace: libtm_runtime.so: a transaction needs a function of libstdc++ that cannot be found' ]] ||
        fail "$said"
}

declare -F "$claim" >/dev/null || {
    echo "library_test.sh: no claim $claim" >&2
    exit 2
}
"$claim"
