#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Python under more threads than CPUs: four runs of its threading and queue test suites side by side
# come out as without a library, test by test; and 16 threads pass items through one short queue
# without losing any. Python's interpreter lock is a mutex and a condition variable, handed over at
# every wait.
#
# Proof: each interpreter reports mutex acquisitions.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
need /usr/bin/python3 python3
python=$(readlink -f /usr/bin/python3) # python3.11
python=${python##*/}
need "/usr/lib/$python/test/test_threading.py" "lib$python-testsuite"

copies=4

cat >outcomes.py <<'END'
import sys
import xml.etree.ElementTree as tree

# One line a test: its name and how it came out; a skip, a failure or an error is a child element.
for case in sorted(tree.parse(sys.argv[1]).iter("testcase"), key=lambda case: case.get("name")):
    print(case.get("name"), case.get("result"), *(child.tag for child in case
                                                  if child.tag not in ("system-out", "system-err")))
END
cat >traffic.py <<'END'
import queue
import threading

PAIRS, ITEMS = 8, 20000
channel = queue.Queue(16)
taken = []


def produce(first):
    for item in range(first, PAIRS * ITEMS, PAIRS):
        channel.put(item)


def consume():
    mine = [channel.get() for _ in range(ITEMS)]
    taken.extend(mine)


threads = [threading.Thread(target=produce, args=(first,)) for first in range(PAIRS)]
threads += [threading.Thread(target=consume) for _ in range(PAIRS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(taken) == list(range(PAIRS * ITEMS)), "an item was lost or came twice"
END

suites() {
    "$@" /usr/bin/python3 -m test --junit-xml "$work/$name.xml" test_threading test_queue \
        test_thread >"$name.err" 2>&1
}

# The reference runs alone: what comes out must not depend on the load.
name=reference
suites plainly || fail "python3 -m test failed without any library"
pids=()
for ((copy = 1; copy <= copies; copy++)); do
    name=copy$copy
    suites launch_preloaded suites
    pids+=("$pid")
done
for round in 1 2 3; do
    preloaded traffic /usr/bin/python3 traffic.py >traffic.err 2>&1 ||
        fail "items went astray between 16 threads in round $round"
    prove traffic "$pid" 1000 100000
done
for ((copy = 1; copy <= copies; copy++)); do
    finish "${pids[copy - 1]}" || fail "python3 -m test failed under the library, copy $copy"
    prove suites "${pids[copy - 1]}" 1000 1000
done
for name in reference copy1 copy2 copy3 copy4; do
    plainly /usr/bin/python3 outcomes.py "$name.xml" >"$name.outcomes"
    [[ -s $name.outcomes ]] || fail "python3 -m test left no outcome in $name.xml"
    same "the outcome of python3's test suites" reference.outcomes "$name.outcomes"
done
say "python3: $copies times $(wc -l <reference.outcomes) tests as without, 3 times 160000 items arrived"
