# SPDX-License-Identifier: MIT
"""The nodes in each cache set, and for which sizes they are drawn."""

import os
import tempfile
import unittest

from plot.occupancy import Occupancy, drawn_sizes, read_occupancies
from rows import Refused


def read(text):
    """What is read from a file of that text."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "a.csv")
        with open(f"{name}.sets", "w", encoding="utf-8") as file:
            file.write(text)
        try:
            return read_occupancies(name)
        except Refused as refusal:
            raise Refused(str(refusal).replace(name, "a.csv")) from refusal


def occupancies(*sizes):
    return [Occupancy("cia", size, 1, 8, ("5",)) for size in sizes]


class Tests(unittest.TestCase):
    def test_a_line_has_a_count_for_each_set(self):
        self.assertEqual(
            read("cia,64,4,8,64,1 0 2 1\n"), [Occupancy("cia", 64, 4, 8, ("1", "0", "2", "1"))]
        )

    def test_without_a_file_or_a_line_there_are_none(self):
        self.assertEqual(read_occupancies("/nowhere/a.csv"), [])
        self.assertEqual(read(""), [])

    def test_the_first_malformed_line_is_refused_by_its_number(self):
        for line in (
            "cia,64,4,8,64,1 2 3",
            "cia,64,1,8,64",
            "cia,64,1,x,64,1",
            "cia,64,1,0,64,1",
            "cia,64,3,8,64,2 x 2",
            "cia,64,1,8,64,-1",
            "",
        ):
            with self.assertRaisesRegex(
                Refused, "^a.csv.sets, line 2: not a row of set counts$", msg=line
            ):
                read(f"cia,64,1,8,64,1\n{line}\n")

    def test_1008_and_1024_are_drawn_where_they_are_there(self):
        self.assertEqual(drawn_sizes(occupancies(1024, 64, 1008), []), (1008, 1024))
        self.assertEqual(drawn_sizes(occupancies(64, 1024), []), (1024,))

    def test_else_the_smallest_is_drawn(self):
        self.assertEqual(drawn_sizes(occupancies(500, 64), []), (64,))

    def test_nothing_is_drawn_of_nothing(self):
        self.assertEqual(drawn_sizes([], []), ())

    def test_the_sizes_that_are_wanted_are_drawn_as_wanted(self):
        self.assertEqual(drawn_sizes(occupancies(64, 500, 1024), [500, 64]), (500, 64))

    def test_a_wanted_size_that_is_not_there_is_refused(self):
        with self.assertRaisesRegex(Refused, "^--sets-size 65: no file.csv.sets has this size$"):
            drawn_sizes(occupancies(64), [64, 65])


if __name__ == "__main__":
    unittest.main()
