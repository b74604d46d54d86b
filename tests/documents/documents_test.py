#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# The documents say what the code does: settings, subcommands, options, links and commands are read out of
# both and compared, in both directions. Usage: documents_test.py SOURCE BUILD CLAIM, where CLAIM is a
# function of this file. Exit status: 0 the claim holds, 1 it does not, 77 this machine cannot tell.
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import document_commands as commands  # noqa: E402 (beside this file)

SETTING = r"(?:BANK|CIA|RAND|TM|TTS|TTSTLE|MPLACE)_[A-Z0-9_]+"
# Each library with its page.
PAGES = {
    "libbank_malloc": "libbank_malloc.7",
    "libcia_malloc": "libcia_malloc.7",
    "librand_malloc": "librand_malloc.7",
    "libtm_runtime": "libtm_runtime.7",
    "libtts_lock": "libtts_lock.7",
    "libttstle_lock": "libttstle_lock.7",
}


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Place:
    def __init__(self, source, build):
        self.source = pathlib.Path(source).resolve()
        self.build = pathlib.Path(build).resolve()
        self.environment = dict(os.environ, MPLACE_BUILD=str(self.build))
        self.environment.pop("LD_PRELOAD", None)

    def output(self, *command):
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=60)
        if done.returncode != 0:
            raise Failure(f"{command} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def mplace(self, *arguments):
        return self.output(self.source / "scripts/mplace", *arguments)

    def page(self, name):
        return (self.source / "docs/man" / name).read_text()

    def documents(self):
        return [self.source / "README.md", *sorted((self.source / "docs").glob("*.md"))]

    def pages(self):
        return sorted((self.source / "docs/man").glob("*.[17]"))


def same(what, left_name, left, right_name, right):
    """Two sets must be equal; what is in one of them only is told."""
    left, right = set(left), set(right)
    if left != right:
        raise Failure(f"{what}: only in {left_name}: {sorted(left - right)}; only in {right_name}: {sorted(right - left)}")


# --- settings ---

def settings_of_the_code(place):
    """Names in quotes that look like a setting, and whatever is asked of the environment by name."""
    found = set()
    files = [file for folder in ("src", "bench/harness", "scripts/probe")
             for file in (place.source / folder).rglob("*.[ch]")]
    asked = r"(?:setting_\w+|getenv|exit_report_plan|statistics_read_setting)\(\s*\"([A-Z][A-Z0-9_]*)\""
    for file in files:
        text = file.read_text()
        found.update(re.findall(rf"\"({SETTING})\"", text))
        found.update(re.findall(asked, text))
    for file in (place.source / "scripts").rglob("*"):
        if file.is_file() and file.suffix in ("", ".bash"):
            found.update(re.findall(rf"\$\{{?({SETTING})", file.read_text()))
    return found


def settings_of_the_document(place):
    text = (place.source / "docs/settings.md").read_text()
    return {name for row in re.findall(r"^\|((?: `[A-Z][A-Z0-9_]*`,?)+) \|", text, re.M)
            for name in re.findall(r"`([A-Z0-9_]+)`", row)}


def every_setting_in_the_code_is_in_settings_md_and_the_reverse(place):
    documented = settings_of_the_document(place)
    if len(documented) < 15:
        raise Failure(f"only {len(documented)} settings found in docs/settings.md: has its form changed?")
    # PATH, TERM and TMPDIR belong to all programs; only what the last is used for is told.
    same("settings", "the code", settings_of_the_code(place) - {"PATH", "TERM"}, "docs/settings.md", documented - {"TMPDIR"})


def every_setting_is_known_to_the_search_for_mistyped_ones(place):
    text = (place.source / "src/base/text/mistyped_settings.c").read_text()
    known = {prefix + name for prefix, names in re.findall(r'\{SETTINGS_\w+, "([A-Z]+_)",((?:\s*"[A-Z0-9_ ]+")+)\}', text)
             for name in names.replace('"', "").split()}
    same("settings", "mistyped_settings.c", known, "docs/settings.md", settings_of_the_document(place) - {"TMPDIR"})


def settings_of_a_page(text):
    section = re.search(r"^\.Sh ENVIRONMENT\n(.*?)(?=^\.Sh )", text, re.M | re.S)
    if section is None:
        raise Failure("no section ENVIRONMENT")
    return {name for line in re.findall(r"^\.It (.*)$", section[1], re.M) for name in re.findall(r"\bEv ([A-Z0-9_]+)", line)}


def each_library_has_the_settings_of_its_manual_page(place):
    for library, page in PAGES.items():
        # Its read-only data: debug information has names of other things, too. In front of a string may
        # be numbers that look like letters, or like the end of a line.
        strings = place.output("readelf", "-p", ".rodata", place.build / "lib" / f"{library}.so")
        inside = set(re.findall(rf"^ .*?({SETTING})$", strings, re.M))
        same(f"settings of {library}", "the library", inside, page, settings_of_a_page(place.page(page)))


def defaults_of_the_document(place):
    """Of each setting, those that its rows give: a number or a word in backquotes; libraries may differ."""
    text = (place.source / "docs/settings.md").read_text()
    defaults = {}
    for names, default in re.findall(r"^\|((?: `[A-Z][A-Z0-9_]*`,?)+) \|[^|]*\| ([^|]*) \|", text, re.M):
        for name in re.findall(r"`([A-Z0-9_]+)`", names):
            defaults.setdefault(name, set()).add(default.strip("`"))
    return defaults


def defaults_in_the_manual_pages_are_those_of_settings_md(place):
    documented = defaults_of_the_document(place)
    seen = 0
    for page in PAGES.values():
        for name, text in re.findall(r"^\.It Ev ([A-Z0-9_]+)\n(.*?)(?=^\.It Ev |^\.Sh )", place.page(page), re.M | re.S):
            default = re.search(r"^\.Cm ([a-z0-9]+)\n\(the default\)|^Default: (\d+)\.$", text, re.M)
            words = documented.get(name, set())
            if default is None or any(word.startswith("unset") or word.startswith("as ") for word in words):
                continue
            seen += 1
            same(f"default of {name}", page, {default[1] or default[2]}, "docs/settings.md", words)
    if seen < 15:
        raise Failure(f"only {seen} defaults found: has the pages' form changed?")


# --- figures of the allocator ---

def every_figure_of_the_allocator_is_in_statistics_md_and_its_manual_page_and_the_reverse(place):
    code = (place.source / "src/cia_malloc/statistics/figures.c").read_text()
    figures = set(re.findall(r"^    \{\"([a-z0-9_.]+)\",\s+FIELD\(([a-z0-9_]+)\)", code, re.M))
    if len(figures) < 14:
        raise Failure(f"only {len(figures)} figures found in figures.c: has its form changed?")
    text = (place.source / "docs/statistics.md").read_text()
    section = re.search(r"^## The allocator\n(.*?)(?=^## )", text, re.M | re.S)
    table = re.findall(r"^\| `([a-z0-9_.]+)` \| `([a-z0-9_]+)` \|", section[1], re.M)
    same("figures", "the code", figures, "docs/statistics.md", set(table))
    section = re.search(r"^\.Sh FIGURES OF THE PROGRAM\n(.*?)(?=^\.Sh )", place.page("libcia_malloc.7"), re.M | re.S)
    items = re.findall(r"^\.It Cm ([a-z0-9_.]+)\n[^\n]*\n(?:\.Pq Cm ([a-z0-9_]+))?", section[1], re.M)
    same("figures", "the code", figures, "libcia_malloc(7)", {(name, key or name) for name, key in items})


# --- subcommands and options ---

def subcommands(place):
    names = re.findall(r"^  ([a-z]+) ", place.mplace("help"), re.M)
    if len(names) < 8:
        raise Failure(f"mplace help lists {names} only")
    return names


# Of every program.
COMMON = {"--help", "--version"}


def options_of_help(text):
    """Options begin their line; those in the middle of one are mentioned, not explained."""
    return set(re.findall(r"^ {2,}(--[a-z][a-z0-9-]*)", text, re.M)) - COMMON


def options_of_page(text):
    return {"-" + name for line in re.findall(r"^\.It (.*)$", text, re.M)
            for name in re.findall(r"(?:^|\s)Fl (-[a-z][a-z0-9-]*)", line)} - COMMON


def every_subcommand_and_option_is_in_mplace_1_and_the_reverse(place):
    page = place.page("mplace.1")
    sections = dict(re.findall(r"^\.Ss mplace ([a-z]+)\n(.*?)(?=^\.S[sh] )", page, re.M | re.S))
    names = subcommands(place)
    same("subcommands", "mplace help", names, "mplace(1)", sections)
    # The figure that calibrate draws is a form of its own in the usage.
    usage_only = {"calibrate": {"--figure"}}
    for name in names:
        same(f"options of mplace {name}", "--help", options_of_help(place.mplace(name, "--help")) | usage_only.get(name, set()),
             "mplace(1)", options_of_page(sections[name]))


def the_benchmarks_options_are_in_their_manual_pages_and_the_reverse(place):
    for name in ("ring", "avltree"):
        same(f"options of {name}", "--help", options_of_help(place.output(place.build / "bin" / name, "--help")),
             f"{name}(1)", options_of_page(place.page(f"{name}.1")))


def the_emulators_options_are_in_its_manual_page_and_the_reverse(place):
    folder = place.build / "lib/mplace/valgrind"
    if not (folder / "rtmgrind-amd64-linux").exists() or shutil.which("valgrind") is None:
        raise Skip("the emulator is not built, or valgrind is not installed")
    place.environment["VALGRIND_LIB"] = str(folder)
    text = place.output("valgrind", "--tool=rtmgrind", "--help")
    text = text.split("user options for rtmgrind:", 1)[1]
    same("options", "--help", options_of_help(text), "rtmgrind(1)", options_of_page(place.page("rtmgrind.1")))


def completion_offers_every_subcommand_and_option(place):
    def offered(*words, at=None):
        at = len(words) - 1 if at is None else at
        program = ('source "$1"; shift; COMP_CWORD=$1; shift; COMP_WORDS=("$@"); compopt() { :; }; _mplace; '
                   'printf "%s\\n" "${COMPREPLY[@]}"')
        return set(place.output("bash", "-c", program, "bash", place.source / "scripts/completion/mplace.bash",
                                str(at), place.source / "scripts/mplace", *words).split())

    names = subcommands(place)
    same("subcommands", "mplace help", names + ["help"], "the completion", offered("", at=1))
    for name in names:
        same(f"options of mplace {name}", "--help", options_of_help(place.mplace(name, "--help")) | COMMON,
             "the completion", offered(name, "-", at=2))
    common = (place.source / "scripts/common/mplace.bash").read_text()
    for option, variable in (("--malloc", "mplace_malloc_names"), ("--lock", "mplace_lock_names")):
        wanted = re.search(rf"^{variable}='(.*)'", common, re.M)[1].split()
        same(f"values of {option}", "common/mplace.bash", wanted, "the completion", offered("run", option, "", at=3))
    same("what follows a comma", "what fits", {"glibc,cia"}, "the completion", offered("sweep", "--malloc", "glibc,ci", at=3))
    same("what follows --htm of smoke", "its help", {"auto", "native", "emulated"}, "the completion",
         offered("smoke", "--htm", "", at=3))


# --- form ---

def the_manual_pages_have_no_warnings(place):
    checked = False
    for page in place.pages():
        if shutil.which("mandoc"):
            checked = True
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.stdout or done.returncode:
                raise Failure(done.stdout)
        if shutil.which("man"):
            checked = True
            environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80")
            done = subprocess.run(["man", "--warnings", "-l", page], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment)
            if done.stderr or done.returncode or len(done.stdout) < 500:
                raise Failure(f"{page.name}: {done.stderr} {len(done.stdout)} characters")
    if len(place.pages()) < 8:
        raise Failure(f"only {place.pages()}")
    if not checked:
        raise Skip("neither mandoc nor man is installed")


def the_manual_pages_refer_to_each_other_only_by_their_names(place):
    own = {page.name for page in place.pages()}
    for page in place.pages():
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", page.read_text(), re.M):
            if name.startswith(("mplace", "lib", "rtmgrind", "ring", "avltree")) and f"{name}.{section}" not in own:
                raise Failure(f"{page.name}: there is no page {name}({section})")
    built = set(re.findall(r"\b\w+\.[17]\b", (place.source / "docs/man/CMakeLists.txt").read_text()))
    same("pages", "docs/man", own, "what is installed", built)


def links_between_documents_lead_somewhere(place):
    for document in place.documents():
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)]+)\)", text):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (document.parent / path) if path else document
            if not file.exists():
                raise Failure(f"{document.name}: {target} leads nowhere")
            if anchor:
                headings = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
                anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                if anchor not in anchors:
                    raise Failure(f"{document.name}: {target}: there is no such heading")


def lines_of_documents_have_at_most_120_columns(place):
    for document in place.documents():
        text = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), document.read_text(), flags=re.M | re.S)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > 120 and not line.startswith("|"):
                raise Failure(f"{document.name}:{number}: {len(line)} columns")


# --- commands ---

def every_command_in_the_documents_is_listed_with_how_it_is_tested(place):
    written = {command for file in (*place.documents(), *place.pages()) for command in commands.of_document(file)}
    if len(written) < 30:
        raise Failure(f"only {len(written)} commands found: has the form of the documents changed?")
    listed = [entry.command for entry in commands.read_list(place.source / "tests/documents/commands.txt")]
    if len(listed) != len(set(listed)):
        raise Failure(f"listed twice: {sorted({command for command in listed if listed.count(command) > 1})}")
    same("commands", "the documents", written, "tests/documents/commands.txt", listed)


def commands_in_the_documents_use_options_that_exist(place):
    texts = {}
    checked = 0
    for file in (*place.documents(), *place.pages()):
        for command in (*commands.of_document(file), *commands.inline(file)):
            for name, words in commands.calls_of_mplace(command):
                if name not in texts:
                    if name in ("help", "SUBCOMMAND"):
                        continue
                    texts[name] = place.mplace(name, "--help")
                known = set(re.findall(r"--[a-z][a-z0-9-]*", texts[name])) | COMMON
                for word in words:
                    checked += 1
                    if word not in known:
                        raise Failure(f"{file.name}: mplace {name} has no option {word}: {command}")
    if checked < 100:
        raise Failure(f"only {checked} options found")


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} SOURCE BUILD CLAIM")
    claim = sys.argv[3]
    check = globals().get(claim)
    if check is None or claim == "main":
        sys.exit(f"{claim}: there is no such claim")
    place = Place(sys.argv[1], sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            check(place)
        except Skip as reason:
            print(f"{claim}: skipped: {reason}")
            sys.exit(77)
        except Failure as failure:
            print(f"{claim}: {failure}", file=sys.stderr)
            sys.exit(1)


main()
