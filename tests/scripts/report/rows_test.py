# SPDX-License-Identifier: MIT
"""Reading results: which files are refused with which words, and what a row is."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import rows

COMMON = Path(rows.__file__).parent.parent / "common/mplace.bash"
GOOD = {
    "bench": "ring", "malloc": "glibc", "lock": "tts", "htm": "none", "size": "64", "nodes": "128",
    "threads": "1", "seed": "7", "rate": "12.5", "unit": "traversals/s", "sets_used": "64",
    "max_per_set": "2", "acquisitions": "1000", "host": "somewhere", "cpu": "Some CPU",
    "date": "2026-01-01", "wait": "park",
}  # fmt: skip


def line(**changed):
    """A line of a result; the columns that are not named are blank."""
    values = GOOD | changed
    return ",".join(values.get(column, "") for column in rows.COLUMNS)


class Tests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def write(self, *lines, name="a.csv", header=rows.HEADER, machine=None):
        """Writes a result of lines, and its description."""
        text = "\n".join([header, *lines]) + "\n"
        Path(name).write_bytes(text.encode("utf-8", "surrogateescape"))
        if machine is not None:
            Path(f"{name}.machine").write_text("\n".join(machine) + "\n")

    def read(self, *lines, **others):
        """The rows of a result of lines."""
        self.write(*lines, **others)
        return rows.read_result(others.get("name", "a.csv")).rows

    def run_report(self, *arguments):
        """Exit status of a report, the names of the results that it was given, its errors."""
        given = []
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            status = rows.run_report(["--as", "mplace plot", *arguments], given.extend)
        return status, [result.name for result in given], errors.getvalue()

    def assert_refused(self, complaint, name="a.csv"):
        """The file is refused with these words."""
        with self.assertRaises(rows.Refused) as refusal:
            rows.read_result(name)
        self.assertEqual(complaint, str(refusal.exception))

    def assert_row_refused(self, complaint, **changed):
        """A result whose second row is changed is refused with these words."""
        self.write(line(), line(**changed))
        self.assert_refused(f"./a.csv, line 3: {complaint}")

    def test_the_header_is_that_of_the_shell(self):
        script = 'source "$1"; csv_header'
        shell = subprocess.run(
            ["bash", "-c", script, "bash", COMMON], capture_output=True, text=True, check=True
        )
        self.assertEqual(shell.stdout, rows.HEADER)

    def test_a_row_has_its_fields_by_name(self):
        (row,) = self.read(line(counters="l1d-misses=5"))
        self.assertEqual(
            ("glibc", "Some CPU", "12.5", "park", "l1d-misses=5"),
            (row.malloc, row.cpu, row.rate, row.wait, row.counters),
        )

    def test_a_dash_is_a_blank_field(self):
        (row,) = self.read(line(cpu="-"))
        self.assertEqual("", row.cpu)

    def test_rows_that_differ_in_their_date_alone_are_equal(self):
        one, other, longer = self.read(line(), line(date="2026-01-02"), line(size="65"))
        self.assertEqual(one, other)
        self.assertNotEqual(one, longer)

    def test_the_cache_of_an_emulated_row_is_that_of_its_host(self):
        machine = ["host=one", "l1d=64x8x64", "host=somewhere", "l1d=64x12x64"]
        emulated, measured, elsewhere = self.read(
            line(htm="emulated"), line(), line(htm="emulated", host="two"), machine=machine
        )
        self.assertEqual(("64x12", "", ""), (emulated.cache, measured.cache, elsewhere.cache))

    def test_a_cache_that_is_no_shape_is_not_known(self):
        for shape in ("64", "0x8", "64x", "64x8x64x2"):
            machine = ["host=somewhere", f"l1d={shape}"]
            (row,) = self.read(line(htm="emulated"), machine=machine)
            self.assertEqual("", row.cache)

    def test_bytes_that_are_no_text_are_kept(self):
        (row,) = self.read(line(host="\udcff\udcfe"))
        self.assertEqual("\udcff\udcfe", row.host)

    def test_only_a_line_feed_ends_a_row(self):
        (row,) = self.read(line(host="a\x0bb\x1cc\u2028d"))
        self.assertEqual("a\x0bb\x1cc\u2028d", row.host)

    def test_a_file_that_cannot_be_read_is_refused(self):
        self.assert_refused("missing.csv is not a readable file", name="missing.csv")
        self.assert_refused(". is not a readable file", name=".")

    def test_an_empty_file_is_refused(self):
        Path("a.csv").touch()
        self.assert_refused("a.csv is empty")

    def test_a_half_row_is_refused(self):
        Path("a.csv").write_text(f"{rows.HEADER}\n{line()}")
        self.assert_refused(
            "a.csv: the last row is incomplete (mplace sweep --resume completes it)"
        )

    def test_another_header_is_refused(self):
        self.write(line(), header=rows.HEADER.replace(",max_per_set", ""))
        self.assert_refused("./a.csv, line 1: not the header of a result")

    def test_a_header_alone_is_refused(self):
        self.write()
        self.assert_refused("./a.csv: no rows")

    def test_an_absolute_name_is_told_as_it_is(self):
        self.write()
        name = str(Path("a.csv").absolute())
        self.assert_refused(f"{name}: no rows", name=name)

    def test_another_number_of_fields_is_refused(self):
        self.write(line(), "ring,cia,tts")
        self.assert_refused("./a.csv, line 3: a row of 3 fields instead of 27")
        self.write(line() + ",")
        self.assert_refused("./a.csv, line 2: a row of 28 fields instead of 27")
        self.write(line(), "", line())
        self.assert_refused("./a.csv, line 3: a row of 0 fields instead of 27")

    def test_a_benchmark_or_allocator_or_lock_that_is_none_is_refused(self):
        self.assert_row_refused("unknown benchmark: rings", bench="rings")
        self.assert_row_refused("not an allocator name: a b", malloc="a b")
        self.assert_row_refused("not a lock and its htm: TTS, none", lock="TTS")
        self.assert_row_refused("not a lock and its htm: tts, always", htm="always")

    def test_a_size_or_seed_that_is_no_number_is_refused(self):
        complaint = "size, nodes, threads or seed is not a number"
        for changed in (
            {"size": "0"}, {"size": "64 "}, {"nodes": "x"}, {"threads": ""}, {"seed": ""},
        ):  # fmt: skip
            self.assert_row_refused(complaint, **changed)

    def test_a_rate_that_is_no_number_is_refused(self):
        for rate in ("fast", "1e6", ".5", "1.", "-1"):
            self.assert_row_refused(f"the rate is not a number: {rate}", rate=rate)

    def test_only_an_emulated_row_may_have_no_rate(self):
        self.assert_row_refused("the rate is missing", rate="")
        (row,) = self.read(line(rate="", htm="emulated"))
        self.assertEqual("", row.rate)

    def test_counts_that_are_no_numbers_are_refused(self):
        self.assert_row_refused("a count of the lock is not a number", abort_other="x")
        self.assert_row_refused("sets_used or max_per_set is not a number", max_per_set="1.5")

    def test_counters_that_are_no_pairs_are_refused(self):
        for counters in ("l1d", "l1d=many", "l1d=1;", "=1", "a=1=2"):
            complaint = f"counters are not name=value;name=value: {counters}"
            self.assert_row_refused(complaint, counters=counters)

    def test_the_first_field_that_is_wrong_is_told(self):
        self.assert_row_refused("the rate is missing", rate="", abort_other="x", counters="x")

    def test_a_refusal_is_one_line_and_nothing_is_reported(self):
        self.write(line())
        self.assertEqual(
            (2, [], "mplace plot: b.csv is not a readable file\n"),
            self.run_report("a.csv", "b.csv"),
        )

    def test_a_name_may_begin_with_a_dash(self):
        self.write(line(), name="--a.csv")
        self.assertEqual((0, ["--a.csv"], ""), self.run_report("--", "--a.csv"))


if __name__ == "__main__":
    unittest.main()
