#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a trace has of programs whose events are known.

usage: trace_test.py SOURCE BUILD PROGRAM CLAIM
"""
import os
import subprocess
import sys
import tempfile

ARENA = 65536


class Trace:
    """A run of one of the programs of program.c under "mplace trace"."""

    def __init__(self, name, *options, arguments=()):
        self.file = os.path.join(FOLDER, "trace")
        run = subprocess.run([MPLACE, "trace", "--out", self.file, *options, "--", PROGRAM, name, *arguments],
                             capture_output=True, text=True, check=False, timeout=100)
        self.status, self.output, self.messages = run.returncode, run.stdout, run.stderr
        self.arena = int(run.stdout.split()[0], 16)
        self.dump()

    def dump(self):
        run = subprocess.run([MPLACE, "trace", "--dump", self.file], capture_output=True, text=True, check=False)
        self.dumped, self.complaint = run.returncode, run.stderr
        lines = run.stdout.splitlines()
        self.remarks = [line for line in lines if line.startswith("#")]
        self.lines = [line for line in lines if not line.startswith("#")]

    def threads(self):
        """The lines of each thread without its number and instructions."""
        result = {}
        for line in self.lines:
            thread, _, event = line.split(" ", 2)
            result.setdefault(int(thread), []).append(event)
        return result

    def in_region(self):
        events = self.threads()[0]
        begin = next(i for i, event in enumerate(events) if event.startswith("mark region_begin"))
        end = next(i for i, event in enumerate(events) if event.startswith("mark region_end"))
        return events[begin + 1:end]

    def of_arena(self, events):
        """Events at the memory of the program, as offsets there, and without their site; and fences."""
        result = []
        for event in events:
            words = event.split(" at ")[0].split()
            place = next((i for i, word in enumerate(words) if word.startswith("0x")), None)
            if place is not None:
                offset = int(words[place], 16) - self.arena
                if not 0 <= offset < ARENA:
                    continue
                words[place] = str(offset)
            elif words[0] != "fence":
                continue
            result.append(" ".join(words))
        return result


def expect(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: expected\n  {wanted}\ngot\n  {got}")


def require(what, holds):
    if not holds:
        sys.exit(what)


def loads_stores_and_locked_instructions_have_their_size_and_order():
    trace = Trace("accesses")
    expect("exit status", 0, trace.status)
    expect("events", ["load 1 1", "load 2 2", "load 4 4", "load 4 4", "store 4 4", "store 8 8", "load 16 16",
                      "store 32 16", "locked 64 8", "locked 72 4", "locked 80 2", "locked 96 16"],
           # That of AL and AX is used by no instruction: VEX may take loads like these out.
           with_unused(trace.of_arena(trace.in_region())))
    sites = {event.split(" at ")[1].split(":")[0] for event in trace.in_region()
             if event.startswith("locked")}
    expect("site", {"accesses (program.c"}, sites)


def with_unused(events):
    for index, event in enumerate(["load 1 1", "load 2 2"]):
        if event not in events:
            events.insert(index, event)
    return events


def fences_flushes_and_stores_past_the_caches_are_told_apart():
    trace = Trace("order")
    expect("events", ["fence mfence", "fence sfence", "fence lfence", "flush clflush 65", "flush clflushopt 128",
                      "flush clwb 192", "flush clwb 320", "nt 256 4", "nt 272 16", "nt 288 16"],
           trace.of_arena(trace.in_region()))
    msyncs = [event for event in trace.of_arena(trace.threads()[0]) if event.startswith("flush msync")]
    expect("msync, which promises nothing with MS_ASYNC", ["flush msync 0 8192"], msyncs)


def with_values_each_store_has_its_bytes():
    trace = Trace("values", "--values")
    expect("events", ["store 1 1 =12", "store 4 4 =78563412", "locked 4 4 =7a563412", "nt 8 8 =ffffffffffffffff",
                      "store 16 16 =" + 16 * "ff"], trace.of_arena(trace.in_region()))


def heap_blocks_come_and_go_with_who_asked():
    trace = Trace("heap")
    events = [event for event in trace.in_region() if event.split()[0] in ("alloc", "free")]
    require(f"who: {events}", all(" by heap (program.c:" in event and "< main (program.c:" in event
                                  for event in events))
    names, told = {}, []
    for event in events:
        words = event.split(" by ")[0].split()
        if words[0] == "alloc":
            names[words[1]] = len(names) if words[1] not in names else names[words[1]]
            told.append(f"alloc {words[2]}")
        else:
            require(f"freed and never allocated: {event}", words[1] in names)
            told.append("free")
    expect("events", ["alloc 100", "alloc 15", "free", "alloc 5000", "free", "free", "alloc 10", "free",
                      "alloc 20", "free"], told)


def a_walk_through_a_list_depends_on_its_loads_and_one_through_an_array_does_not():
    trace = Trace("walks")
    events = trace.in_region()
    middle = next(i for i, event in enumerate(events) if event.startswith("mark tx_begin"))
    walk = trace.of_arena(events[:middle])
    expect("loads of the list", 1000, len(walk))
    require("a load of the list that does not depend on the one before it",
            all(event.endswith(" dependent") for event in walk[1:]))
    array = trace.of_arena(events[middle + 1:])
    expect("loads of the array", [f"load {8 * i} 8" for i in range(999, -1, -1)], array)


def a_way_down_a_tree_depends_on_its_loads():
    trace = Trace("tree")
    loads = trace.of_arena(trace.in_region())
    expect("loads", 20, len(loads))
    # The root's address is a constant: its key and one of its children.
    expect("without a dependence", loads[:2], [load for load in loads if not load.endswith(" dependent")])


def marks_of_the_program_come_in_their_order():
    trace = Trace("marks")
    marks = [event.split(" at ")[0] for event in trace.threads()[0] if event.startswith("mark")]
    expect("marks", ["region_begin 0x0 0", "tx_begin 0x0 0", "tx_commit 0x0 0", "tx_begin 0x0 0", "tx_abort 0x0 0",
                     f"persistent {trace.arena:#x} 4096", f"frame {trace.arena:#x} 77", "region_end 0x0 0"],
           [mark[len("mark "):] for mark in marks])


def synchronisation_of(events):
    return [event.split(" at ")[0].split() for event in events
            if event.split()[0] in ("acquire", "release", "post", "wait")]


def each_wait_names_a_post_of_its_object(threads):
    """Returns how many waits there are."""
    posts = {number: [words for words in synchronisation_of(events) if words[0] == "post"]
             for number, events in threads.items()}
    waits = 0
    for number, events in threads.items():
        for words in synchronisation_of(events):
            if words[0] == "wait":
                thread, post = int(words[words.index("thread", 2) + 1]), int(words[-1])
                if words[1] == "thread":
                    thread = int(words[4])
                require(f"thread {number}: {words}: no such post", post <= len(posts[thread]))
                expect(f"thread {number}: {words}", words[1:3], posts[thread][post - 1][1:3])
                waits += 1
    return waits


def each_object_of_pthread_tells_who_waits_for_whom():
    trace = Trace("synchronisation")
    expect("exit status", 0, trace.status)
    threads = trace.threads()
    require("waits", each_wait_names_a_post_of_its_object(threads) >= 4)
    other = [" ".join(words[:2]) + (" shared" if words[-1] == "shared" else "")
             for words in synchronisation_of(threads[1])]
    barrier = "wait barrier" if "wait barrier" in other else "post barrier"
    expect("the other thread", ["wait thread", "acquire mutex", "release mutex", "wait condition", "acquire mutex",
                                "release mutex", "wait semaphore", barrier, "acquire rwlock shared",
                                "release rwlock shared", "acquire spin", "release spin", "post once", "post thread"],
           other)
    first = [" ".join(words[:2]) for words in synchronisation_of(threads[0])]
    last = first.index("wait once")
    expect("the end of the first thread", ["wait thread", "acquire rwlock", "release rwlock"], first[last - 3:last])
    require("no heap block of the initialisation", any(event.startswith("alloc") and " 333 " in event
                                                       for event in threads[1]))


def each_join_waits_for_the_end_of_its_thread():
    threads = Trace("joins").threads()
    each_wait_names_a_post_of_its_object(threads)
    waits = [words for words in synchronisation_of(threads[0]) if words[0] == "wait"]
    expect("who was waited for", [f"{number:#x}" for number in range(8, 0, -1)], [words[2] for words in waits])


def calls_that_get_nothing_leave_no_event():
    trace = Trace("vain")
    expect("exit status", 0, trace.status)
    expect("events", [["release", "mutex"], ["acquire", "mutex"], ["acquire", "rwlock"]],
           [words[:2] for words in synchronisation_of(trace.in_region())])


def a_futex_of_its_own_is_told_as_one():
    trace = Trace("futexes")
    threads = trace.threads()
    each_wait_names_a_post_of_its_object(threads)
    require("no wait for the futex",
            ["wait", "futex", f"{trace.arena:#x}"] in [words[:3] for words in synchronisation_of(threads[1])])


def the_program_sees_as_many_processors_as_asked_for():
    expect("processors", "3", Trace("processors", "--cpus", "3").output.split()[1])
    expect("without the option", "16", Trace("processors").output.split()[1])


def a_thread_is_told_of_the_virtual_processor_that_it_is_at():
    told = Trace("places", "--cpus", "8").output.splitlines()[1:]
    expect("asked for, by libc, by RDTSCP", [f"{cpu} {cpu} {cpu}" for cpu in range(8)], told)


def threads_interleave_as_the_seed_says():
    def changes(*options):
        return int(Trace("races", *options).output.split()[1])

    first = changes("--seed", "1")
    require(f"{first} changes", first > 20)
    expect("the same seed", first, changes("--seed", "1"))
    require("the other seeds give the same", {changes("--seed", seed) for seed in "234"} != {first})
    require("one processor changes threads as often", changes("--cpus", "1") < 20)


def at_its_limit_the_capture_stops_and_the_program_goes_on():
    trace = Trace("many", "--max-accesses", "5000")
    expect("exit status", 0, trace.status)
    require("the program did not end", trace.output.endswith("done\n"))
    expect("status of the dump", 0, trace.dumped)
    accesses = sum(line.split()[2] in ("load", "store", "locked", "nt") for line in trace.lines)
    expect("remark", [f"# cut at {accesses} accesses, as asked for"], trace.remarks[2:])
    require(f"{accesses} accesses", 5000 <= accesses < 5200)


def a_child_is_not_traced():
    trace = Trace("forks")
    expect("dump", 0, trace.dumped)
    expect("stores", 10, sum(event.startswith("store") for event in trace.of_arena(trace.threads()[0])))


def what_came_before_execve_is_a_complete_trace():
    trace = Trace("executes")
    expect("exit status", 0, trace.status)
    expect("dump", 0, trace.dumped)
    expect("stores", 10, sum(event.startswith("store") for event in trace.of_arena(trace.threads()[0])))


def a_program_that_is_killed_leaves_a_trace_that_is_not_complete():
    trace = Trace("kills")
    expect("exit status", 137, trace.status)
    expect("dump", 1, trace.dumped)
    require(f"complaint: {trace.complaint}", "the file is cut at byte" in trace.complaint)
    require("no events", len(trace.lines) > 1000)


def a_file_that_is_cut_can_be_read_up_to_there():
    trace = Trace("heap")
    whole = trace.lines
    size = os.path.getsize(trace.file)
    os.truncate(trace.file, size - 60)
    trace.dump()
    expect("dump", 1, trace.dumped)
    require("it is not told", "the trace is not complete: the file is cut at byte" in trace.complaint)
    expect("events", whole[:len(trace.lines)], trace.lines)


def a_dump_that_cannot_be_written_is_told_in_one_line():
    trace = Trace("marks", arguments=("0",))
    with open("/dev/full", "wb") as full:
        run = subprocess.run([MPLACE, "trace", "--dump", trace.file], stdout=full, stderr=subprocess.PIPE, text=True,
                             check=False)
    expect("dump", 2, run.returncode)
    expect("complaint", "mplace trace: the output cannot be written\n", run.stderr)


def the_programs_exit_status_and_output_are_its_own():
    trace = Trace("marks", arguments=("7",))
    expect("exit status", 7, trace.status)
    expect("output", f"{trace.arena:#x}\n", trace.output)
    require(f"the line: {trace.messages}",
            trace.messages.startswith(f"mplace trace: {trace.file}: ") and " accesses, " in trace.messages
            and trace.messages.count("\n") == 1)


def a_full_disk_is_told_and_the_program_goes_on():
    run = subprocess.run([MPLACE, "trace", "--out", "/dev/full", "--", PROGRAM, "many", "5"],
                         capture_output=True, text=True, check=False, timeout=100)
    expect("exit status", 5, run.returncode)
    require("output", run.stdout.endswith("done\n"))
    require(f"messages: {run.stderr}", run.stderr.startswith("mplace trace: /dev/full: No space left on device\n"))


def a_program_that_cannot_be_started_leaves_nothing():
    file = os.path.join(FOLDER, "program")
    with open(file, "wb") as program:  # for 32 bits
        program.write(b"\x7fELF\1\1\1".ljust(16, b"\0") + b"\2\0\3\0\1\0\0\0".ljust(100, b"\0"))
    os.chmod(file, 0o755)
    run = subprocess.run([MPLACE, "trace", "--out", os.path.join(FOLDER, "trace"), "--", file],
                         capture_output=True, text=True, check=False, timeout=100)
    require(f"exit status {run.returncode}", run.returncode != 0)
    require(f"messages: {run.stderr}", run.stderr.endswith("mplace trace: nothing was traced\n"))


def a_writer_that_is_gone_does_not_end_the_program():
    pipe = os.path.join(FOLDER, "pipe")
    os.mkfifo(pipe)
    environment = dict(os.environ, VALGRIND_LIB=os.path.join(BUILD, "lib/mplace/valgrind"))
    with subprocess.Popen(["head", "-c", "1000", pipe], stdout=subprocess.DEVNULL):
        run = subprocess.run(["valgrind", "-q", "--tool=memtrace", f"--pipe={pipe}", PROGRAM, "many", "5"],
                             capture_output=True, text=True, check=False, timeout=100, env=environment)
    expect("exit status", 5, run.returncode)
    require("output", run.stdout.endswith("done\n"))
    expect("messages", "", run.stderr)


SOURCE, BUILD, PROGRAM, CLAIM = sys.argv[1:]
MPLACE = os.path.join(SOURCE, "scripts", "mplace")
os.environ["MPLACE_BUILD"] = BUILD
if not os.path.exists(os.path.join(BUILD, "lib/mplace/valgrind/memtrace-amd64-linux")):
    print("memtrace is not built")
    sys.exit(77)
with tempfile.TemporaryDirectory() as FOLDER:
    globals()[CLAIM]()
