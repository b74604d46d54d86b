#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Python's own test suites run under the libraries with the same outcome of every single test as
# without: lists and json (tens of thousands of small objects) and threading (locks, conditions,
# barriers, fork with threads, daemon threads at exit). The full size takes more: memory, containers,
# ctypes, processes, collector. Debian does not ship the suites of sqlite3 and of the C interface: a
# script of our own shares a database between threads, and work between processes.
#
# Proof: the interpreter itself must report allocations and mutex acquisitions. Its interpreter lock
# is a mutex and a condition variable of libpthread, taken even by a single thread.
# PYTHONMALLOC=malloc sends every object to malloc; python's default keeps objects up to 512 bytes
# in an allocator of its own. The full size runs both. One test of test_subprocess looks at all open
# descriptors of a process, and would find that of the statistics: it runs without them.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
python=$(readlink -f /usr/bin/python3) # python3.11
python=${python##*/}
shows "its own tests of threads, json, memory, ctypes; sqlite3 in threads; a pool of processes" \
    "$python-minimal" "lib$python-testsuite"
need /usr/bin/python3 python3
need "/usr/lib/$python/test/test_threading.py" "lib$python-testsuite"

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

cat >work.py <<'END'
import concurrent.futures
import hashlib
import json
import multiprocessing
import sqlite3
import sys
import threading

ROWS, FILE = int(sys.argv[1]), sys.argv[2]


def digest(data):
    return hashlib.sha256(repr(data).encode()).hexdigest()


def work(number):
    """In a process of the pool: made by fork of a process that has threads."""
    return digest(json.loads(json.dumps({str(i): list(range(i % 50)) for i in range(number % 300)})))


# One connection that eight threads share, and one connection a thread, on the same file.
shared = sqlite3.connect(FILE, check_same_thread=False, isolation_level=None, timeout=600)
shared.execute("PRAGMA journal_mode = WAL")
shared.execute("PRAGMA synchronous = OFF")
shared.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, thread INTEGER, body TEXT)")
guard = threading.Lock()


def fill(thread):
    own = sqlite3.connect(FILE, timeout=600)
    for i in range(thread, ROWS, 8):
        with guard:
            shared.execute("INSERT INTO item VALUES (?, ?, ?)", (i, thread, f"{i:x} " * (i % 60)))
        if i % 5 == 0:
            own.execute("SELECT count(*), max(length(body)) FROM item").fetchone()
    own.close()


threads = [threading.Thread(target=fill, args=(thread,)) for thread in range(8)]
for thread in threads:
    thread.start()
with multiprocessing.get_context("fork").Pool(3) as pool:
    print("processes", digest(pool.map(work, range(ROWS // 4))))
for thread in threads:
    thread.join()
print("rows", digest(shared.execute("SELECT * FROM item ORDER BY id").fetchall()))
print("sums", shared.execute("SELECT thread, count(*), sum(length(body)) FROM item GROUP BY 1").fetchall())
with concurrent.futures.ThreadPoolExecutor(6) as executor:
    print("threads", digest(list(executor.map(work, range(ROWS // 4)))))
END
mkdir database
if [[ $(id -u) == 0 ]]; then chown nobody: database; fi
rows=$(quick_or_full 800 8000)
plainly /usr/bin/python3 work.py "$rows" database/reference >reference.shared 2>shared.err ||
    fail "work.py failed without any library"
preloaded shared /usr/bin/python3 work.py "$rows" database/preloaded >preloaded.shared \
    2>shared.err || fail "work.py failed under the library"
prove shared all 10000 "$rows"
[[ $(wc -l <preloaded.shared) == 4 ]] || fail "work.py did not finish"
same "what work.py printed" reference.shared preloaded.shared

compare malloc test_json test_list test_threading
if [[ $full == 1 ]]; then
    compare pymalloc test_json test_threading test_list
    compare malloc test_thread test_threading_local test_queue test_gc test_mmap test_dict test_set \
        test_memoryview test_array test_ctypes test_fork1 test_tracemalloc test_pickle test_zlib \
        test_re test_struct test_deque test_generators test_resource test_subprocess test_bytes \
        --ignore test_pass_fds_redirected
    preloaded descriptors env -u CIA_STATS -u RAND_STATS -u BANK_STATS -u TTS_STATS -u TTSTLE_STATS \
        /usr/bin/python3 -m test test_subprocess -m test_pass_fds_redirected >descriptors.err 2>&1 ||
        fail "test_pass_fds_redirected failed under the library"
fi
