# SPDX-License-Identifier: MIT
#
# The commands that the documents show, and the list of how each is tested (commands.txt).
import pathlib
import re
import shlex
import typing

# What a line begins with, behind settings, when the block that it opens is for a shell. Other blocks are
# drawings and outputs.
COMMAND = re.compile(
    r"(?:[A-Z_]+=\S* )*"
    r"(?:scripts/|build/bin/|bench/|mplace |ring |avltree |valgrind |cmake |cpack|apt|dpkg|for |bpftrace |awk |jq |perf |"
    r"addr2line |sudo |tar |sbatch |srun |git |ctest |curl |ssh |LD_PRELOAD=)")


class Entry(typing.NamedTuple):
    command: str
    instead: list  # commands that are run in its place; empty: itself
    reason: str    # why none is run, or ""
    expected: list # patterns that the output has


def join(lines):
    """Whole commands: lines that a backslash, an open quote, a loop or a here-document goes on."""
    whole = ""
    for line in lines:
        whole = f"{whole}\n{line}" if whole else line
        if whole.endswith("\\"):
            whole = whole[:-1].rstrip()
            continue
        # A remark stands behind two blanks, with or without "#".
        text = re.sub(r"(?<=\S)\s{2,}\S.*", "", whole) if "\n" not in whole else whole
        text = re.sub(r"\s*\n\s*", " ", text).strip()
        try:
            shlex.split(text)
        except ValueError: # a quote is open
            continue
        if re.match(r"for ", text) and not re.search(r"\bdone$", text):
            continue
        whole = ""
        if text:
            yield text


def of_document(file):
    text = pathlib.Path(file).read_text()
    if pathlib.Path(file).suffix == ".md":
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    else:
        examples = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh )", text, re.M | re.S)
        blocks = re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed", examples[1], re.M | re.S) if examples else []
    for block in blocks:
        # A script's first lines, for the shell that runs it and for Slurm.
        block = re.sub(r"\A(?:#.*\n)+", "", block)
        if COMMAND.match(block):
            # Continuation lines lose their indentation in join.
            yield from join(re.sub(r"\\\n\s+", "", line) for line in re.sub(r"\\\n\s*", "", block).splitlines())


def inline(file):
    """Commands in the running text of a Markdown document."""
    if pathlib.Path(file).suffix == ".md":
        text = re.sub(r"^```.*?^```", "", pathlib.Path(file).read_text(), flags=re.M | re.S)
        for span in re.findall(r"`([^`]+)`", text):
            if COMMAND.match(span):
                yield re.sub(r"\s+", " ", span)


def calls_of_mplace(command):
    """(subcommand, options) of each call of mplace in a command; what follows -- is not its own."""
    for call in re.findall(r"(?:^|[ /;])mplace ([A-Za-z]+)((?: [^;|]*)?)", command):
        words = re.split(r" -- ", call[1], maxsplit=1)[0].split()
        yield call[0], [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]


def read_list(file):
    """Entries begin with "$ "; "> " is run instead, "- " says why nothing is, "~ " is a pattern to be found."""
    entries = []
    for number, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1):
        mark, text = line[:2], line[2:].strip()
        if not line or line.startswith("#"):
            continue
        if mark == "$ ":
            entries.append(Entry(text, [], "", []))
        elif mark == "> " and entries:
            entries[-1].instead.append(text)
        elif mark == "~ " and entries:
            entries[-1].expected.append(text)
        elif mark == "- " and entries:
            entries[-1] = entries[-1]._replace(reason=text)
        else:
            raise ValueError(f"{file}:{number}: not a line of this list: {line}")
    return entries
