#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What CIA_PROFILE promises, seen from outside: profile_sites runs, and what it wrote is decoded.

usage: profile_test.py SOURCE LIBRARY PROGRAM CLAIM, where CLAIM is a function of this file.
Exit status: 0 the claim holds, 1 it does not, 77 this machine cannot tell.
"""

import glob
import gzip
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import zlib

source, library, program, claim = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "scripts", "report"))
from profiles import pprof, stacks  # noqa: E402 (found by the path above)
from profiles.main import top  # noqa: E402

EVERY = {"CIA_PROFILE_INTERVAL": "1"}
# What profile_sites allocates and keeps: blocks and bytes of each.
ALLOCATED = {"first_site": (4000, 4000000), "second_site": (2000, 3000000), "third_site": (200, 10001000)}
KEPT = {"first_site": (2000, 2000000), "second_site": (2000, 3000000), "third_site": (100, 10000000)}
scratch = tempfile.mkdtemp(prefix="mplace-profile.")


def check(holds, *words):
    if not holds:
        print(*words, file=sys.stderr)
        shutil.rmtree(scratch)
        sys.exit(1)


def run(how, *arguments, name="profile", program=program, **settings):
    """Standard error and exit status of the program."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CIA_")}
    environment.update(settings, LD_PRELOAD=library, CIA_PROFILE=os.path.join(scratch, name))
    done = subprocess.run([program, how, *arguments], env=environment, stderr=subprocess.PIPE, text=True, check=False)
    return done.stderr, done.returncode


def written(name="profile"):
    return pprof.read(os.path.join(scratch, name))


def sums(profile):
    """By function of the program: blocks and bytes allocated, blocks and bytes in use."""
    names, found = stacks.Stacks(profile), {}
    for sample in profile.samples:
        for function in names.of(sample):
            if function.endswith("_site"):
                before = found.get(function, (0, 0, 0, 0))
                found[function] = tuple(a + b for a, b in zip(before, sample.values))
    return found


def silent(result):
    check(result == ("", 0), "said and ended with", result)


def with_every_allocation_sampled_the_sums_are_exact():
    silent(run("kept", **EVERY))
    expected = {name: ALLOCATED[name] + KEPT[name] for name in KEPT}
    check(sums(written()) == expected, sums(written()), "and not", expected)


def sampled_sums_are_within_five_standard_deviations():
    interval = 16384
    for seed in ("1", "2", "3"):
        silent(run("kept", CIA_PROFILE_INTERVAL=str(interval), CIA_PROFILE_SEED=seed))
        found = sums(written())
        for name, size in (("first_site", 1000), ("second_site", 1500), ("third_site", 100000)):
            chance = 1 - math.exp(-(size + 1) / interval)
            for which, (count, space) in enumerate((ALLOCATED[name], KEPT[name])):
                # Of a binomial distribution, scaled by 1 / chance; blocks of 10 B are few bytes.
                deviation = size * math.sqrt(space / size * (1 - chance) / chance)
                off = found[name][2 * which + 1] - space
                check(abs(off) < 5 * deviation + 100000, name, seed, found[name], "off by", off, "of", deviation)


def nothing_is_in_use_after_all_is_freed():
    silent(run("freed", **EVERY))
    found = sums(written())
    check(all(one[2:] == (0, 0) for one in found.values()) and len(found) == 3, found)


def every_function_of_the_family_is_counted_and_freed():
    silent(run("every", **EVERY))
    profile = written()
    names = stacks.Stacks(profile)
    index = profile.types.index("inuse_space")
    left = [names.of(one) for one in profile.samples if "main" in names.of(one) and one.values[index] != 0]
    check(not left, left)
    check(any("call_every_function" in names.of(one) for one in profile.samples), "not named")


def what_is_refused_changes_nothing():
    silent(run("refused", **EVERY))
    check(sums(written()) == {"mapping_site": (1, 2000000, 1, 2000000)}, sums(written()))


def the_same_seed_gives_the_same_samples():
    settings = {"CIA_PROFILE_INTERVAL": "65536", "CIA_PROFILE_SEED": "7"}
    silent(run("kept", **settings))
    first = sums(written())
    silent(run("kept", **settings))
    check(first == sums(written()), first, sums(written()))


def each_sample_says_the_class_and_the_set():
    silent(run("kept", **EVERY))
    profile = written()
    names = stacks.Stacks(profile)
    found = {}
    for one in profile.samples:
        if "first_site" in names.of(one):
            found.setdefault(one.labels["class"], set()).add(one.labels["l1_set"])
    check(list(found) == [1088], found)
    check(len(found[1088]) == 64, "sets", found)


def the_file_is_a_gzip_stream_with_its_checksum():
    silent(run("every", **EVERY))
    with open(os.path.join(scratch, "profile"), "rb") as file:
        data = file.read()
    plain = zlib.decompressobj(wbits=31)
    check(len(plain.decompress(data)) > 1000 and plain.eof and plain.unused_data == b"", "not one whole stream")
    check(len(gzip.decompress(data)) > 32768, "only one block was tried")
    mode = os.stat(os.path.join(scratch, "profile")).st_mode & 0o777
    check(mode == 0o600, oct(mode))


def a_damaged_or_hostile_file_is_no_profile():
    """Each is refused with a sentence; none ends the reader otherwise."""
    silent(run("every", **EVERY))
    path = os.path.join(scratch, "profile")
    with open(path, "rb") as file:
        whole = file.read()
    plain = gzip.decompress(whole)
    middle = len(whole) // 2
    for what, data in {"cut": whole[:middle],
                       "deflate": whole[:middle] + bytes(64) + whole[middle + 64:],
                       "period": plain + b"\x62\x01x",
                       "drop_frames": plain + b"\x32\x01(" + b"\x38" + varint(len(strings(plain))),
                       "zeros": gzip.compress(bytes(1 << 20))}.items():
        with open(path, "wb") as file:
            file.write(data)
        try:
            pprof.read(path)
        except pprof.Malformed as refusal:
            check(str(refusal) != "", what)
        else:
            check(False, "taken for a profile", what)


def strings(plain):
    """The texts of a profile."""
    return [value for field, value in pprof.fields(plain) if field == 6]


def varint(number):
    """A number as a message has it."""
    result = b""
    while number >= 0x80:
        result += bytes([number & 0x7f | 0x80])
        number >>= 7
    return result + bytes([number])


def the_child_of_a_fork_has_a_file_of_its_own():
    for how in ("fork", "raw-fork"):
        silent(run(how, name=how, **EVERY))
        children = glob.glob(os.path.join(scratch, how + ".*"))
        check(len(children) == 1, how, children)
        check(sums(written(how))["first_site"][2:] == KEPT["first_site"], how, sums(written(how)))
        child = sums(pprof.read(children[0]))
        check(child["first_site"][2:] == (0, 0) and child["second_site"][2:] == KEPT["second_site"], how, child)


def so_has_one_that_is_made_while_its_parent_writes():
    """The parent writes to a terminal, which takes 64 KiB until it is read. What the child does is seen by its
    complaint: beside the terminal there is no place for a file."""
    master, slave = os.openpty()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CIA_")}
    environment.update(EVERY, LD_PRELOAD=library, CIA_PROFILE=os.ttyname(slave), CIA_PROFILE_SIGNAL="USR2")
    process = subprocess.Popen([program, "fork-while-writing", "12"], env=environment, stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    os.read(master, 1)
    said = process.communicate("x")[1]
    check(re.search(rf"CIA_PROFILE={os.ttyname(slave)}\.\d+\.1: cannot open", said), said)


def with_the_process_id_in_the_name_so_has_every_process():
    silent(run("fork", name="of.%p", **EVERY))
    files = sorted(os.path.basename(name) for name in glob.glob(os.path.join(scratch, "*")))
    check(len(files) == 2 and all(re.fullmatch(r"of\.\d+", name) for name in files), files)


def a_signal_writes_a_file_with_a_number_and_the_program_goes_on():
    silent(run("signal", "12", CIA_PROFILE_SIGNAL="USR2", **EVERY))
    check(sums(written("profile.1")) == sums(written()), sums(written("profile.1")))


def neither_the_signal_nor_the_exit_of_a_cancelled_thread_ends_in_the_middle():
    silent(run("cancelled", "12", CIA_PROFILE_SIGNAL="USR2", **EVERY))
    check(sums(written("profile.1")) == sums(written()), sums(written("profile.1")))


def an_exit_waits_for_a_profile_that_a_signal_asked_for():
    said, status = run("while-busy", "12", CIA_PROFILE_SIGNAL="USR2", **EVERY)
    check(status == 0, said, status)
    if said == "":
        check(sums(written("profile.1")) == sums(written()), sums(written("profile.1")))
    else:  # a thread that has not run for two seconds is waited for no longer
        check(said.count("\n") == 1 and "not written, for another one is being written" in said, said)


def a_signal_that_was_not_asked_for_ends_the_process_as_ever():
    said, status = run("signal", "12", **EVERY)
    check((said, status) == ("", -12), said, status)


def a_process_that_ends_by_underscore_exit_writes_nothing():
    silent(run("quick", **EVERY))
    check(os.listdir(scratch) == [], os.listdir(scratch))


def a_file_that_cannot_be_written_is_one_line():
    said, status = run("kept", name="no/such/folder")
    check(status == 0 and said.count("\n") == 1 and "CIA_PROFILE=" in said, said, status)
    os.symlink("/dev/full", os.path.join(scratch, "full"))
    environment = dict(os.environ, LD_PRELOAD=library, CIA_PROFILE="/dev/full")
    done = subprocess.run([program, "kept"], env=environment, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0 and "could not be written in full" in done.stderr and done.stderr.count("\n") == 1,
          done.stderr)
    environment["CIA_PROFILE"] = os.path.join(scratch, "longer")
    done = subprocess.run([program, "kept"], env=environment, stderr=subprocess.PIPE, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
    check(done.returncode == 0 and "could not be written in full" in done.stderr and done.stderr.count("\n") == 1,
          done.returncode, done.stderr)


def bad_settings_are_one_line_each():
    for name, value in (("CIA_PROFILE_INTERVAL", "0"), ("CIA_PROFILE_INTERVAL", "512K"), ("CIA_PROFILE_SEED", "x"),
                        ("CIA_PROFILE_SIGNAL", "KILL")):
        said, status = run("kept", **{name: value})
        check(status == 0 and said.count("\n") == 1 and f"{name}={value} is not allowed" in said, said, status)
    said, status = run("kept", CIA_HARDEN="1")
    check(status == 0 and said.count("\n") == 1 and "has no effect with CIA_HARDEN=1" in said, said, status)
    environment = dict(os.environ, LD_PRELOAD=library, CIA_PROFILE="1")
    done = subprocess.run([program, "kept"], env=environment, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0 and "CIA_PROFILE=1 is not allowed" in done.stderr, done.stderr)


def it_samples_packed_blocks_and_without_sequences():
    for how, settings in (("kept", {"CIA_LINES": "compact"}), ("kept", {"CIA_RSEQ": "0"}), ("unregistered", {})):
        silent(run(how, **EVERY, **settings))
        expected = {name: ALLOCATED[name] + KEPT[name] for name in KEPT}
        check(sums(written()) == expected, how, settings, sums(written()))


def a_walk_below_libgccs_own_lock_does_not_wait_for_it():
    silent(run("registered", **EVERY))
    check(len(written().samples) > 0, "no sample")


def a_walk_ends_where_the_stack_cannot_be_read():
    silent(run("coroutine", **EVERY))
    check(len(written().samples) > 0, "no sample")


def the_fast_paths_know_nothing_of_profiles():
    """They ask nothing of profiles where they return; malloc does where it leaves its own."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    for name, slow in (("malloc", "cia_allocate_by_mode"), ("free", "cia_free_slow")):
        body = re.search(rf"<(?:__libc_)?{name}>:\n(.*?)\n\n", code, re.DOTALL).group(1)
        fast = body.split("\tret")[0]
        known = set(re.findall(r"<(\w+)", fast))
        # A variable of the thread's own is found by the global offset table.
        check(not re.search("profile|mode|sampl|stack|GLOBAL_OFFSET", " ".join(known)), name, known)
        check(fast != body and f"<{slow}>" in body, name, body)


def copy_without(what):
    """A copy of the program, without its debugging information, or without symbols."""
    copy = os.path.join(scratch, "copy")
    subprocess.run(["strip", what, "-o", copy, program], check=True)
    return copy


def the_file_itself_names_the_sites():
    """The program is gone when the profile is read."""
    copy = copy_without("--strip-debug")
    silent(run("kept", program=copy, **EVERY))
    os.remove(copy)
    expected = {name: ALLOCATED[name] + KEPT[name] for name in KEPT}
    check(sums(written()) == expected, sums(written()))


def a_place_without_a_symbol_is_the_file_and_what_addr2line_takes():
    silent(run("kept", program=copy_without("--strip-all"), **EVERY))
    sites = {names[0] for names in map(stacks.Stacks(written()).of, written().samples)}
    own = [site.removeprefix("copy+") for site in sites if site.startswith("copy+0x")]
    check(len(own) == len(sites) and len(own) >= 3, sites)
    named = subprocess.run(["addr2line", "-fse", program, *own], stdout=subprocess.PIPE, text=True, check=True).stdout
    check(set(KEPT) <= set(named.split()), own, named)


def pprof_names_the_sites():
    if shutil.which("go") is None:
        print("go is not installed: on Debian: apt-get install golang-go")
        shutil.rmtree(scratch)
        sys.exit(77)
    # By itself go's pprof names what has debugging information, and nothing else.
    silent(run("kept", program=copy_without("--strip-debug"), **EVERY))
    environment = dict(os.environ, PPROF_TMPDIR=scratch, HOME=scratch)
    done = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=inuse_space", os.path.join(scratch, "profile")],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    order = re.findall(r"\w+_site$", done.stdout, re.MULTILINE)
    check(done.returncode == 0 and order == ["third_site", "second_site", "first_site"], done.stdout, done.stderr)


def mplace_profile_names_sites_stacks_and_crowded_sets():
    mplace = os.path.join(source, "scripts", "mplace")
    path = os.path.join(scratch, "profile")

    def say(*options):
        return subprocess.run([mplace, "profile", path, *options], stdout=subprocess.PIPE, text=True,
                              check=True).stdout

    silent(run("kept", **EVERY))
    order = re.findall(r"\w+_site", say())
    check(order == ["third_site", "second_site", "first_site"], order)
    check(re.search(r" 100.0 %  main$", say("--cum"), re.MULTILINE) and
          re.findall(r"\w+_site", say("--cum")) == order, say("--cum"))
    check(re.search(r"^.*;main;first_site 4000000$", say("--folded", "--value", "alloc_space"), re.MULTILINE),
          say("--folded"))
    check(re.match("0 of [0-9]+ sites crowd", say("--placement")), say("--placement"))
    silent(run("same-set", **EVERY))
    said = say("--placement")
    check(re.match("1 of [0-9]+ sites crowd", said) and re.search(r"^ +128 +128 +576 +1 +55 +128  same_set < main", said, re.MULTILINE), said)


def a_profile_of_which_nothing_is_left_says_what_to_ask_for():
    for settings, expected in ((EVERY, "--value alloc_space"),
                              ({"CIA_PROFILE_INTERVAL": str(1 << 40)}, "CIA_PROFILE_INTERVAL=1")):
        silent(run("freed", **settings))
        profile = written()
        index = profile.types.index("inuse_space")
        profile.samples = [one for one in profile.samples if "main" in one.frames]
        check(all(one.values[index] == 0 for one in profile.samples), profile.samples)
        said = " ".join(top(profile, "inuse_space"))
        check(expected in said and "%" not in said, said)


globals()[claim]()
shutil.rmtree(scratch)
