# SPDX-License-Identifier: MIT
"""doctor/main.py: what mplace doctor asks for is what it gets."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import doctor_records as records
from doctor.main import main


class Tests(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", delete=False) as file:
            file.write(records.text())
        self.addCleanup(os.unlink, file.name)
        self.own = ["--run", "its own allocator", "0", file.name]
        self.cia = ["--run", "cia", "7", file.name]

    def printed(self, form, *options):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(0, main([form, "--top", "5", *options]))
        return output.getvalue()

    def test_each_form_can_be_had(self):
        beginnings = {"text": "mplace doctor: x\n", "html": "<!DOCTYPE html>\n", "json": "{"}
        for form, beginning in beginnings.items():
            with self.subTest(form):
                page = self.printed(form, "--title=x", *self.own)
                self.assertTrue(page.startswith(beginning), page)

    def test_a_title_may_look_like_an_option(self):
        page = self.printed("text", "--title=--top", *self.own)
        self.assertTrue(page.startswith("mplace doctor: --top\n"), page)

    def test_the_second_run_stands_beside_the_first(self):
        document = json.loads(self.printed("json", "--title=x", *self.own, *self.cia))
        runs = [(run["malloc"], run["exit_status"]) for run in document["runs"]]
        self.assertEqual([("its own allocator", 0), ("cia", 7)], runs)

    def test_a_third_run_is_refused(self):
        complaint = io.StringIO()
        with contextlib.redirect_stderr(complaint), self.assertRaises(SystemExit) as ended:
            main(["text", "--top", "5", "--title=x", *self.own, *self.cia, *self.cia])
        self.assertEqual(2, ended.exception.code)
        self.assertIn("--run is given at most twice", complaint.getvalue())


if __name__ == "__main__":
    unittest.main()
