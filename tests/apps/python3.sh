#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Python's own test suites run under the libraries with the same outcome of every single test as
# without: lists and json (tens of thousands of small objects) and threading (locks, conditions,
# barriers, fork with threads, daemon threads at exit).
#
# Proof: the interpreter itself must report allocations and mutex acquisitions. Its interpreter lock
# is a mutex and a condition variable of libpthread, taken even by a single thread.
# PYTHONMALLOC=malloc sends every object to malloc; python's default keeps objects up to 512 bytes
# in an allocator of its own. The full size runs both.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
need /usr/bin/python3 python3
need /usr/lib/python3.11/test/test_threading.py libpython3.11-testsuite

# One line a test: its name and how it came out.
cat >outcomes.py <<'END'
import sys
import xml.etree.ElementTree as tree

for case in sorted(tree.parse(sys.argv[1]).iter("testcase"), key=lambda case: case.get("name")):
    # Attributes with times are left out; a skip, a failure or an error is a child element.
    print(case.get("name"), case.get("result"), *(child.tag for child in case
                                                  if child.tag not in ("system-out", "system-err")))
END

outcomes() {
    plainly /usr/bin/python3 outcomes.py "$1.xml" >"$1.outcomes"
    [[ -s $1.outcomes ]] || fail "python3 -m test left no outcome in $1.xml"
}

# test_threading sleeps most of its time: the two runs go side by side.
compare() {
    local mode=$1 reference
    shift
    launch "PYTHONMALLOC=$mode" /usr/bin/python3 -m test --junit-xml "$PWD/reference.xml" \
        "$@" >reference.err 2>&1
    reference=$pid
    preloaded python3 "PYTHONMALLOC=$mode" /usr/bin/python3 -m test \
        --junit-xml "$PWD/python3.xml" "$@" >python3.err 2>&1 ||
        fail "python3 -m test $* (PYTHONMALLOC=$mode) failed under the library"
    prove python3 "$pid" 10000 1000
    finish "$reference" || fail "python3 -m test $* failed without any library"
    outcomes reference
    outcomes python3
    same "the outcome of python3 -m test $*" reference.outcomes python3.outcomes
    say "python3 -m test $*, PYTHONMALLOC=$mode: $(wc -l <python3.outcomes) tests as without"
}

compare malloc test_json test_list test_threading
if [[ $full == 1 ]]; then
    compare pymalloc test_json test_threading test_list
fi
