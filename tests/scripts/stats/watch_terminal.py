#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What "mplace stats --watch" does on a terminal: runs it on a pseudo-terminal, types, and reads the screen.

usage: watch_terminal.py MPLACE PROCESS LIBRARY CLAIM      CLAIM is a function of this file, LIBRARY libcia_malloc.so

Nothing is decided by time: looks come a thousand seconds apart, and every wait is for something to appear.
"""
import contextlib
import fcntl
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LONGEST = 50


class Failure(Exception):
    pass


class Screen:
    """A terminal of a few sequences, which complains of what a program that fits never does."""

    def __init__(self, rows, columns):
        self.is_other = False # the alternate screen
        self.cursor = True
        self.pages = 0 # that were whole, and shorter than the screen
        self.resize(rows, columns)
        self.rest = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            if text[at] == "\033":
                match = re.compile(r"\033\[(\??\d*)([A-Za-z])").match(text, at)
                if match is None:
                    if len(text) - at > 10:
                        raise Failure(f"an unknown sequence: {text[at:at + 10]!r}")
                    break
                self.obey(match[1], match[2])
                at = match.end()
                continue
            self.put(text[at])
            at += 1
        self.rest = text[at:]

    def obey(self, number, what):
        if what == "H":
            self.row = self.column = 0
        elif what == "K":
            self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif what == "J":
            self.pages += 1
            self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1, self.rows):
                self.lines[row] = [" "] * self.columns
        elif number in ("?1049", "?25") and what in "hl":
            if number == "?25":
                self.cursor = what == "h"
            else:
                self.is_other = what == "h"
                self.resize(self.rows, self.columns)
        else:
            raise Failure(f"an unknown sequence: {number}{what}")

    def put(self, character):
        if not self.is_other:
            return # what the shell's screen gets does as it likes
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row >= self.rows:
                raise Failure("it scrolls")
        elif not " " <= character <= "~":
            raise Failure(f"a character {character!r}")
        else:
            if self.column >= self.columns:
                raise Failure(f"longer than {self.columns} columns: {''.join(self.lines[self.row])}")
            self.lines[self.row][self.column] = character
            self.column += 1

    def text(self):
        return ["".join(line).rstrip() for line in self.lines]


class Watch:
    def __init__(self, *options, rows=24, columns=80, process=None):
        self.master, self.slave = os.openpty()
        self.screen = Screen(rows, columns)
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.child = subprocess.Popen(
            [MPLACE, "stats", "--watch", "1000", *options, process or PROCESS], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env=dict(os.environ, TERM="xterm"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.said = ""

    def set_size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        """Waits for a page of the new size, and looks strictly at the one after it."""
        # As terminals do: from now on the program writes for the old size or for the new one.
        self.screen.resize(max(rows, self.screen.rows), max(columns, self.screen.columns))
        self.set_size(rows, columns)
        self.until(f"no page of {rows} x {columns}", lambda lines: lines[0].startswith("mplace stats") and
                   len([line for line in lines if line]) <= rows and all(len(line) <= columns for line in lines))
        self.screen.resize(rows, columns)
        self.type(" ")
        self.until(f"no second page of {rows} x {columns}", lambda lines: lines[0].startswith("mplace stats") and
                   lines[min(rows, 5) - 1])

    def read(self):
        ready, _, _ = select.select([self.master], [], [], 0.1)
        if ready:
            text = os.read(self.master, 65536).decode()
            self.said += text
            self.screen.feed(text)
        return bool(ready)

    def until(self, what, condition):
        end = time.monotonic() + LONGEST
        while not condition(self.screen.text()):
            if time.monotonic() > end:
                raise Failure(f"{what}: " + "\n".join(["", *self.screen.text()]))
            self.read()

    def until_begun(self):
        self.until("no page", lambda lines: any("  KIND" in line for line in lines) and
                   "mplace stats" in lines[0])

    def type(self, keys):
        os.write(self.master, keys.encode())

    def look(self):
        """Has it look, and gives the page, which must be shorter than the screen. All before must have been read."""
        pages = self.screen.pages
        self.type(" ")
        self.until("it does not look", lambda lines: self.screen.pages > pages)
        return self.screen.text()

    def end(self):
        """The exit status, when all was read."""
        end = time.monotonic() + LONGEST
        while self.child.poll() is None:
            if time.monotonic() > end:
                raise Failure("it does not end")
            self.read()
        while self.read():
            pass
        return self.child.returncode

    def expect_restored(self, what):
        if termios.tcgetattr(self.slave) != self.before:
            raise Failure(f"{what}: the terminal's settings are not as before")
        if self.screen.is_other or not self.screen.cursor:
            raise Failure(f"{what}: another screen, or no cursor")


def tables(lines):
    """The rows of both tables."""
    heads = [number for number, line in enumerate(lines) if "LIVE BYTES" in line or "  KIND" in line]
    if len(heads) != 2:
        raise Failure("not two tables: " + "\n".join(lines))
    classes = [line for line in lines[heads[0] + 1:heads[1]] if line]
    locks = [line for line in lines[heads[1] + 1:] if line]
    return classes, locks


def expect(what, wanted, got):
    if wanted != got:
        raise Failure(f"{what}: expected {wanted!r}, got {got!r}")


def it_fits_and_follows_the_size():
    watch = Watch()
    watch.until_begun()
    lines = watch.screen.text()
    if not re.match(r"mplace stats  process \d+ \(stats_server\)  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, ", lines[0]):
        raise Failure(f"no time stamp: {lines[0]}")
    classes, locks = tables(lines)
    expect("all of the server's locks", 2, len(locks))
    wide = len(classes)
    watch.resize(12, 60)
    watch.until("no tables", lambda lines: any("  KIND" in line for line in lines) and lines[-1])
    classes, locks = tables(watch.screen.text())
    if not 0 < len(classes) < wide or not locks:
        raise Failure(f"{len(classes)} classes, {len(locks)} locks in 12 rows")
    watch.resize(3, 20)
    watch.resize(50, 200)
    watch.until("it does not grow", lambda lines: any(re.search(r"0x[0-9a-f]{6,}$", line) for line in lines))
    watch.type("q")
    expect("exit status", 0, watch.end())


def forty_columns_have_the_process_and_how_to_quit():
    watch = Watch("--top", "1", columns=40)
    watch.until("no page", lambda lines: watch.screen.pages == 1)
    lines = watch.screen.text()
    for wanted in (f"process {PROCESS} (", "q: quit"):
        if wanted not in "\n".join(lines):
            raise Failure(f"no '{wanted}': " + "\n".join(["", *lines]))
    watch.type("q")
    expect("exit status", 0, watch.end())


def keys_are_those_of_top():
    watch = Watch()
    watch.until_begun()
    watch.until("no dash for the rates of a first look", lambda lines: any("-/s allocations" in line for line in lines))
    watch.type(" ")
    watch.until("space does not look", lambda lines: any("0/s allocations" in line for line in lines))
    watch.type("?")
    watch.until("no help", lambda lines: "keys" in lines[0] and any("quit" in line for line in lines))
    watch.type("x")
    watch.until("the help stays", lambda lines: "process" in lines[0])
    for order in (2, 3, 0, 1):
        watch.type(">")
        names = ("*ALLOCS/S", "*LIVE BYTES", "*CHANGE", "*BLOCK")
        watch.until(f"not sorted by {names[order]}", lambda lines, name=names[order]: name in " ".join(lines))
    classes, _ = tables(watch.screen.text())
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
    # Of each line the second length: the first one is that of a block.
    live = [float(number) * units[unit] for number, unit in
            (re.findall(r"([0-9.]+) (B|KiB|MiB)", line)[1] for line in classes)]
    if live != sorted(live, reverse=True) or len(live) < 4:
        raise Failure(f"not in the order of live bytes: {classes}")
    watch.type("<")
    watch.until("not back", lambda lines: "*ALLOCS/S" in " ".join(lines))
    watch.type("n")
    watch.until("n asks for nothing", lambda lines: any("to show" in line for line in lines))
    watch.type("1\r")
    watch.until("not one of each", lambda lines: "to show" not in " ".join(lines) and
                [len(rows) for rows in tables(lines)] == [1, 1])
    watch.type("s5\x7f7\r")
    watch.until("not every 7 s", lambda lines: lines[0].endswith("every 7 s"))
    watch.type("\033[A") # an arrow is no escape, and no key
    watch.type("q")
    expect("exit status", 0, watch.end())
    watch.expect_restored("q")


def top_limits_both_tables_and_locks_its_own():
    for options, wanted in ((["--top", "3"], [3, 2]), (["--top", "3", "--locks", "1"], [3, 1]), (["--locks", "0"], None)):
        watch = Watch(*options)
        watch.until("no page", lambda lines: any("LIVE BYTES" in line for line in lines))
        if wanted is None:
            expect("tables of locks", 0, len([line for line in watch.screen.text() if "  KIND" in line]))
        else:
            watch.until("no locks", lambda lines: any("  KIND" in line for line in lines))
            expect(f"rows with {options}", wanted, [len(rows) for rows in tables(watch.screen.text())])
        watch.type("q")
        expect("exit status", 0, watch.end())


def expect_first_in_use(watch, table):
    """Of a table of one row, where the server's sum of it says that something is in use."""
    sums = (r"malloc +([0-9.]+)", r"locks +([0-9.]+)")[table]
    rate = (r" +[0-9]+ B +([0-9.]+)", r" +([0-9.]+)")[table]
    lines = watch.look()
    while float(re.search(sums, "\n".join(lines))[1]) == 0:
        lines = watch.look()
    if float(re.match(rate, tables(lines)[table][0])[1]) == 0:
        raise Failure("first is one that stands still: " + "\n".join(["", *lines]))
    watch.type("q")
    expect("exit status", 0, watch.end())


def of_locks_that_nobody_waits_for_the_one_in_use_is_first():
    watch = Watch("--top", "1")
    watch.until("no page", lambda lines: watch.screen.pages == 1)
    expect_first_in_use(watch, 1)


def of_classes_that_do_not_grow_the_one_in_use_is_first():
    watch = Watch("--top", "1")
    watch.until("no page", lambda lines: watch.screen.pages == 1)
    watch.type(">")
    watch.until("not sorted by change", lambda lines: "*CHANGE" in " ".join(lines) and watch.screen.pages == 2)
    expect_first_in_use(watch, 0)


def the_terminal_is_restored_on_every_way_out():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGPIPE):
        watch = Watch()
        watch.until_begun()
        if termios.tcgetattr(watch.slave) == watch.before:
            raise Failure("keys would come by lines")
        if number == signal.SIGINT:
            watch.type("\x03")
        else:
            watch.child.send_signal(number)
        expect(f"what it ended by, {number.name}", -number, watch.end())
        watch.expect_restored(number.name)


def while_it_is_stopped_the_terminal_is_as_before():
    watch = Watch()
    watch.until_begun()
    watch.child.send_signal(signal.SIGTSTP)
    end = time.monotonic() + LONGEST
    while os.waitid(os.P_PID, watch.child.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            raise Failure("it does not stop")
        watch.read()
    while watch.read():
        pass
    watch.expect_restored("stopped")
    watch.child.send_signal(signal.SIGCONT)
    watch.until("it does not go on", lambda lines: watch.screen.is_other and "mplace stats" in lines[0])
    watch.type("q")
    expect("exit status", 0, watch.end())
    watch.expect_restored("q")


def wait_until(what, condition):
    end = time.monotonic() + LONGEST
    while not condition():
        if time.monotonic() > end:
            raise Failure(what)


def is_shown(process):
    return subprocess.run([MPLACE, "stats", str(process.pid)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def is_program(process, name):
    return pathlib.Path(f"/proc/{process.pid}/comm").read_text() == f"{name}\n"


@contextlib.contextmanager
def another_process(script):
    """A shell that can be watched."""
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, text=True,
                          env=dict(os.environ, LD_PRELOAD=LIBRARY, MPLACE_STATS_LIVE="1")) as process:
        try:
            wait_until("there is nothing to watch", lambda: is_shown(process))
            yield process
        finally:
            process.kill()


def expect_last_words(watch, wanted):
    watch.type(" ")
    expect("exit status", 0, watch.end())
    watch.expect_restored("the end")
    if not watch.said.rstrip().endswith(f"mplace stats: {wanted}"):
        raise Failure(f"its last words: {watch.said[-200:]!r}")


def the_end_of_the_process_is_said_on_the_terminal_as_it_was():
    with another_process("read line") as process:
        watch = Watch(process=str(process.pid))
        watch.until("no page", lambda lines: "mplace stats" in lines[0])
        process.kill()
        process.wait()
        expect_last_words(watch, f"process {process.pid} has ended")


def a_process_that_ended_and_was_not_waited_for_has_ended():
    with another_process("read line") as process:
        watch = Watch(process=str(process.pid))
        watch.until("no page", lambda lines: "mplace stats" in lines[0])
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        expect_last_words(watch, f"process {process.pid} has ended")


def a_process_that_becomes_a_program_without_statistics_has_not_ended():
    with another_process("read line; unset LD_PRELOAD; exec sleep 1000") as process:
        watch = Watch(process=str(process.pid))
        watch.until("no page", lambda lines: "mplace stats" in lines[0])
        process.stdin.close()
        wait_until("it is no other program", lambda: is_program(process, "sleep"))
        expect_last_words(watch, f"process {process.pid} has become another program")


def has_rates(lines):
    """Whether the line of malloc does; of one look alone it has dashes."""
    return re.search(r"^malloc  -/s allocations  -/s frees  change -  ", "\n".join(lines), re.M) is None


def the_first_look_at_another_program_of_a_process_has_no_rates():
    with another_process("read line; exec sleep 1000") as process:
        watch = Watch("--top", "1", process=str(process.pid))
        watch.until("no page", lambda lines: watch.screen.pages == 1)
        expect("rates at the second look", True, has_rates(watch.look()))
        process.stdin.close()
        wait_until("it is no other program", lambda: is_program(process, "sleep") and is_shown(process))
        expect("rates of another program", False, has_rates(watch.look()))
        expect("its rates at the next look", True, has_rates(watch.look()))
        watch.type("q")
        expect("exit status", 0, watch.end())


MPLACE, PROCESS, LIBRARY, CLAIM = sys.argv[1:5]
try:
    globals()[CLAIM]()
except Failure as failure:
    sys.exit(f"{CLAIM}: {failure}")
