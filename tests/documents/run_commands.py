#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Runs the commands of the documents as commands.txt says, in its order, in one scratch folder that looks
# like the source tree to them. Usage: run_commands.py SOURCE BUILD. Exit status: 0 each ended with 0 and
# printed what the list expects, 1 some did not, which are named.
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import document_commands as commands  # noqa: E402 (beside this file)

LONGEST = 300 # seconds; they are shortened to a few


def prepare(scratch, source, build):
    """Folders and files that the commands name, and mplace, ring and avltree where a shell finds them."""
    (scratch / "bin").mkdir()
    for name, target in (("scripts", source / "scripts"), ("bench", source / "bench"), ("build", build),
                         ("bin/mplace", source / "scripts/mplace"), ("bin/ring", build / "bin/ring"),
                         ("bin/avltree", build / "bin/avltree"), ("libmine.so", build / "lib/libcia_malloc.so")):
        (scratch / name).symlink_to(target)
    (scratch / "file.c").write_text("int answer(void) { return 42; }\n")
    (scratch / "program.c").write_text('#include <pthread.h>\n#include <stdlib.h>\n'
                                       'static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n'
                                       'int main(void)\n{\n    for (int i = 0; i < 1000; i++) {\n'
                                       '        void *block = malloc(100);\n        pthread_mutex_lock(&lock);\n'
                                       '        *(volatile int *)block = i;\n        pthread_mutex_unlock(&lock);\n'
                                       '        free(block);\n    }\n#ifdef SERVER\n    pause();\n#endif\n    return 0;\n}\n')
    for name, options in (("PROGRAM", []), ("SERVER", ["-DSERVER", "-include", "unistd.h"])):
        subprocess.run(["cc", "-g", *options, "-o", scratch / "bin" / name, scratch / "program.c"], check=True)


def missing(line):
    """What this machine lacks for a line of the form "if NAME: COMMAND"."""
    match = re.match(r"if (\S+): (.*)$", line)
    if match is None:
        return line, None
    found = subprocess.run(["bash", "-c", f"type -P {match[1]} || ls {match[1]} || ls /usr/lib/x86_64-linux-gnu/{match[1]}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return match[2], None if found.returncode == 0 else match[1]


def run(line, folder, environment):
    """What the command printed, and its exit status. What it left running is ended."""
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=LONGEST)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = f"none in {LONGEST} s"
    return output.decode(errors="replace"), status


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    # Debian's own programs first: an interpreter from elsewhere is none of these commands' concern.
    # ld.so takes no quoting in LD_PRELOAD: no blank in the name.
    with tempfile.TemporaryDirectory(prefix="mplace-commands-", dir="/tmp") as folder:
        scratch = pathlib.Path(folder)
        prepare(scratch, source, build)
        environment = {name: value for name, value in os.environ.items()
                       if not re.match(r"(LD_|BANK_|CIA_|RAND_|TTS|MPLACE_)", name)}
        environment.update(PATH=f"{scratch}/bin:{environment['PATH']}", MPLACE_BUILD=str(build), TMPDIR=str(scratch),
                           LIBRARIES=str(build / "lib"), LC_ALL="C.UTF-8")
        failed = ran = left_out = 0
        for entry in commands.read_list(pathlib.Path(__file__).with_name("commands.txt")):
            if entry.reason:
                continue
            output, status = "", 0
            begun = time.monotonic()
            for line in entry.instead or [entry.command]:
                line, lacking = missing(line)
                if lacking:
                    print(f"left out: {line}: there is no {lacking}")
                    left_out += 1
                    entry = entry._replace(expected=[])
                    continue
                # A library named without a folder is found as if it was installed.
                line = re.sub(r"LD_PRELOAD=(?=lib\w+\.so)", "LD_LIBRARY_PATH=$LIBRARIES LD_PRELOAD=", line)
                part, ended = run(line, scratch, environment)
                output += part
                status = status or ended
                ran += 1
            lacks = [pattern for pattern in entry.expected if not re.search(pattern, output, re.M)]
            wrong = status != 0 or lacks
            print(f"{'FAIL' if wrong else 'ok  '} {time.monotonic() - begun:6.1f} s  {entry.command}", flush=True)
            if wrong:
                failed += 1
                print(f"     exit status {status}; not found in the output: {lacks}")
                print("     " + "\n     ".join(output.splitlines()[-15:]))
        print(f"{ran - failed} passed, {failed} failed, {left_out} left out")
        sys.exit(1 if failed or ran == 0 else 0)


main()
