# SPDX-License-Identifier: MIT
"""Lines of the source in reports, with answers of addr2line that are written here."""

import json
import unittest

import lines

ANSWER = """\
0x00000000000012ce
inlined
/src/a.c:35
main
/src/a.c:64 (discriminator 3)
0x0000000000001300
??
??:0
0x0000000000001400
f
/src/a.c:?
""".splitlines()

TEXT = """\
mplace: transactions of process 1 under libtm_runtime
  transaction main+0x53  /bin/p+0x12ce
    aborts                      50 cancelled
  transaction (others)
  switch, 5 times, of the transaction /bin/p+0x12ce
    calls without a clone g+0x0  /bin/with blank+0x10
    in f+0x7d  /bin/p+0x20
    by f+0x7d  /bin/p+0x20
    by g+0x1  /bin/unknown+0x20
"""


def ask(path, offsets):
    """Each offset of two files is the line of that number; 0x12ce was inlined."""
    if path not in ("/bin/p", "/bin/with blank"):
        return {}
    return {
        offset: lines.frames_in(ANSWER)[offset] if offset == 0x12CE else [lines.Frame("of_" + hex(offset), "/a.c", offset)]
        for offset in offsets
    }


def no_addr2line(_path, _offsets):
    raise FileNotFoundError(2, "No such file or directory")


class Tests(unittest.TestCase):
    maxDiff = None

    def test_an_inlined_function_is_a_frame_and_what_is_not_known_is_none(self):
        self.assertEqual(
            {
                0x12CE: [lines.Frame("inlined", "/src/a.c", 35), lines.Frame("main", "/src/a.c", 64)],
                0x1300: [],
                0x1400: [],
            },
            lines.frames_in(ANSWER),
        )

    def test_control_characters_of_debugging_information_do_not_get_through(self):
        frames = lines.frames_in(["0x0000000000000010", "f\x1b[2J", "/a\x07.c:1"])
        self.assertEqual([lines.Frame("f [2J", "/a .c", 1)], frames[0x10])

    def test_in_text_the_line_takes_the_place_of_the_file(self):
        expected = """\
mplace: transactions of process 1 under libtm_runtime
  transaction main+0x53  /src/a.c:35 in inlined, inlined at /src/a.c:64
    aborts                      50 cancelled
  transaction (others)
  switch, 5 times, of the transaction main  /src/a.c:35 in inlined, inlined at /src/a.c:64
    calls without a clone g+0x0  /a.c:16
    in f+0x7d  /a.c:33
    by f+0x7d  /a.c:32
    by g+0x1  /bin/unknown+0x20
"""
        self.assertEqual(expected, lines.with_lines(TEXT, ask))

    def test_each_file_is_asked_for_once(self):
        asked = []
        lines.with_lines(TEXT, lambda path, offsets: asked.append((path, sorted(offsets))) or {})
        self.assertEqual(
            [("/bin/p", [0x20, 0x21, 0x12CE]), ("/bin/unknown", [0x20]), ("/bin/with blank", [0x10])], sorted(asked)
        )

    def test_in_json_the_frames_are_added_and_other_reports_stay(self):
        def place(offset):
            return {"file": "/bin/p", "file_offset": offset}

        report = {
            "library": "libtm_runtime",
            "transactions": [{"begin": place(0x12CE)}, {"begin": None}],
            "switches": [{"called": None, "frames": [{"call": place(0x20)}, {"call": place(0x20)}]}],
        }
        other = '{ "library": "libtts_lock", "first": {"file": "/bin/p", "file_offset": 32} }\n'
        result = lines.with_lines(other + json.dumps(report, indent=2) + "\n" + other, ask)
        self.assertTrue(result.startswith(other) and result.endswith(other))
        result = json.loads(result[len(other) : -len(other)])
        self.assertEqual(
            [("inlined", "/src/a.c", 35), ("main", "/src/a.c", 64)],
            [tuple(frame.values()) for frame in result["transactions"][0]["begin"]["source"]],
        )
        # Of the innermost the instruction behind the call.
        self.assertEqual(
            [33, 32], [frame["call"]["source"][0]["line"] for frame in result["switches"][0]["frames"]]
        )

    def test_a_report_that_was_cut_short_gets_through(self):
        cut = '{"library": "libtm_runtime", "switches": [{"fra'
        self.assertEqual(cut, lines.with_lines(cut, ask))
        no_switches = '{"library": "libtm_runtime"}'
        self.assertEqual(no_switches, lines.with_lines(no_switches, ask))

    def test_a_file_that_is_not_there_is_not_asked_for(self):
        self.assertEqual({}, lines.ask_addr2line("/no/such/file", [1]))
        self.assertEqual({}, lines.ask_addr2line("/dev/zero", [1]))
        self.assertEqual({}, lines.ask_addr2line("lines_test.py", [1]))

    def test_what_asks_nothing_needs_no_addr2line(self):
        self.assertEqual("nothing of places\n", lines.with_lines("nothing of places\n", no_addr2line))


if __name__ == "__main__":
    unittest.main()
