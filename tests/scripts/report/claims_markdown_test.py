# SPDX-License-Identifier: MIT
"""The Markdown of a judgement: verdicts, findings and their sources, the files and warnings."""

import contextlib
import io
import unittest

from claims import main, markdown, sources
from claims.points import Points, add_up
from claims_examples import aborting, result, row, setting, settings, tree


def claim(judge):
    """A claim that is judged so."""
    return markdown.Claim("title", "paper.", "command", judge, "not measured", "No rows.")


def holding(one):
    """A finding for every setting."""
    return [markdown.Finding(one, "holds", "Seen.")]


class Tests(unittest.TestCase):
    def test_a_finding_is_where_and_verdict_and_what_was_seen(self):
        finding = markdown.Finding(setting(row()), "holds", "Seen.")
        self.assertEqual(
            "\nMeasured: Some CPU, 128 nodes. **Holds.** Seen.\n", finding.text()
        )

    def test_a_table_follows_what_was_seen(self):
        finding = markdown.Finding(None, "differs", table="| a |\n|---|\n")
        self.assertEqual("\n**Differs.**\n\n| a |\n|---|\n", finding.text())

    def test_fewer_than_three_runs_of_a_size_leave_no_verdict(self):
        def judge(one):
            return [markdown.Finding(one, "differs", "Seen.", series=[("cia", "tts")])]

        lines = [row(size=size, seed=seed) for size in (64, 128) for seed in (1, 2, 3)]
        (finding,) = claim(judge).findings(settings(*lines))
        self.assertEqual(("differs", "Seen."), (finding.verdict, finding.seen))
        (finding,) = claim(judge).findings(settings(*lines[:-1]))
        self.assertEqual("not measured: fewer than 3 runs of a size", finding.verdict)
        self.assertEqual("Seen. Fewer than 3 runs at 128 B.", finding.seen)

    def test_emulated_rows_need_one_run_alone(self):
        def judge(one):
            return [markdown.Finding(one, "holds", "Seen.", series=[("glibc", "ttstle")])]

        (finding,) = claim(judge).findings(settings(aborting()))
        self.assertEqual("holds", finding.verdict)

    def test_a_finding_names_its_rows_series_and_files(self):
        results = [result(row(), row("glibc")), result(row(seed=2), row(size=65), row("rand"))]
        (one,) = add_up(results).settings
        finding = markdown.Finding(one, "holds", series=[("cia", "tts"), ("glibc", "tts")])
        self.assertEqual(
            "Rows: 4 of ring, cia under tts; glibc under tts; file 1, 2.", finding.sources()
        )

    def test_a_claim_is_judged_for_each_setting(self):
        found = claim(holding).findings(settings(row(), row(cpu="Other CPU")))
        self.assertEqual(2, len(found))

    def test_a_claim_without_a_finding_says_what_is_missing(self):
        (found,) = claim(lambda one: []).findings(settings(row()))
        self.assertEqual("\n**Not measured.** No rows.\n", found.text())

    def test_the_verdicts_come_first_with_a_claims_title_once(self):
        points = Points(settings(row(), tree()), 0)
        text = markdown.judgement([claim(holding), claim(lambda one: [])], points)
        self.assertEqual(
            "## Verdicts\n\n| | claim | where | verdict |\n|---|---|---|---|\n"
            "| 1 | title | measured: Some CPU, 128 nodes | holds |\n"
            "| | | measured: Some CPU, 4 threads | holds |\n"
            "| 2 | title |  | not measured |\n"
            "\n## 1. title\n\nThe paper: paper.\n"
            "\nMeasured: Some CPU, 128 nodes. **Holds.** Seen.\n"
            "\nMeasured: Some CPU, 4 threads. **Holds.** Seen.\n"
            "\nTo measure it: `command`\n"
            "\n## 2. title\n\nThe paper: paper.\n"
            "\n**Not measured.** No rows.\n"
            "\nTo measure it: `command`\n",
            text,
        )

    def test_rows_that_are_left_out_are_told_at_the_end(self):
        for number, rows in ((1, "1 row"), (2, "2 rows")):
            text = markdown.judgement([], Points([], number))
            end = f"\nLeft out: {rows} of ttstle that did not elide, and is tts then.\n"
            self.assertTrue(text.endswith(end))

    def test_a_file_is_told_by_its_number_name_rows_hosts_and_command(self):
        machine = ["sweep_command=  ", "sweep_command=mplace `x` "]
        results = [
            result(row(), row(host="two"), row(), name="/some/a|b.csv"),
            result(row(host=""), row(host="x"), machine=machine),
        ]
        self.assertEqual(
            [
                "| 1: a\\|b.csv | 3 | somewhere, two | not known: no a\\|b.csv.machine |",
                "| 2: a.csv | 2 | x | mplace \\`x\\` |",
            ],
            sources.file_table(results).splitlines()[2:],
        )

    def test_where_a_result_lay_is_left_out_of_its_command(self):
        for out in ("--out /some/folder/a.csv", "--out=folder/a.csv", "--out a.csv"):
            one = result(row(), machine=[f"sweep_command=mplace sweep ring {out} --runs 1"])
            expected = f"mplace sweep ring {out[:6]}a.csv --runs 1"
            self.assertEqual(expected, sources.command_of(one))

    def test_warnings_are_told_once(self):
        results = [result(machine=["warning=a|b", "warning=c"]), result(machine=["warning=c"])]
        self.assertEqual(
            "\nWhat spoils the measured rows:\n\n* a\\|b\n* c\n", sources.warnings(results)
        )
        self.assertEqual("", sources.warnings([result(row())]))

    def test_the_page_is_head_and_files_and_warnings_and_judgement(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            main.write_judgement([result(row(), machine=["warning=w"])])
        page = output.getvalue()
        self.assertTrue(page.startswith("# The claims of the paper, judged\n\n"))
        self.assertIn("move it.\n\n| file | rows | host | command |\n", page)
        self.assertIn(" |\n\nWhat spoils the measured rows:\n\n* w\n\n## Verdicts\n", page)
        self.assertEqual(12, page.count("\nTo measure it: `mplace sweep "))
        self.assertTrue(page.endswith("`\n"))


if __name__ == "__main__":
    unittest.main()
