# SPDX-License-Identifier: MIT
"""Numbers, lists and tables as Markdown, and the sizes that the paper names."""

import unittest

from claims import named_sizes, words


class Tests(unittest.TestCase):
    def test_a_list_ends_in_and(self):
        self.assertEqual("1", words.joined([1]))
        self.assertEqual("1 and 2", words.joined([1, 2]))
        self.assertEqual("1, 2 and 3", words.joined([1, 2, 3]))

    def test_a_list_of_more_than_16_ends_in_a_number(self):
        fifteen = ", ".join(str(value) for value in range(1, 16))
        self.assertEqual(f"{fifteen} and 16", words.shortened(list(range(1, 17))))
        self.assertEqual(f"{fifteen} and 2 more", words.shortened(list(range(1, 18))))

    def test_sizes_that_follow_each_other_are_a_range(self):
        tried = [64, 500, 504, 512, 1008, 2000]
        self.assertEqual("64 to 504, 1008", words.ranges([64, 500, 504, 1008], tried))
        self.assertEqual("", words.ranges([], tried))

    def test_a_share_has_three_digits(self):
        self.assertEqual("1 %", words.percent(0.01))
        self.assertEqual("99.7 %", words.percent(0.9974))
        self.assertEqual("0.0123 %", words.percent(0.000123))

    def test_a_count_that_is_not_there_is_blank(self):
        self.assertEqual(("", "0.0"), (words.count(None), words.count(0)))

    def test_only_the_first_letter_becomes_capital(self):
        self.assertEqual("Measured: a CPU", words.capitalised("measured: a CPU"))

    def test_foreign_text_stays_text_in_a_table(self):
        self.assertEqual("a\\|b \\`c\\` d\\\\", words.escaped("a|b `c` d\\"))

    def test_a_table_has_a_line_under_its_head(self):
        self.assertEqual("| a | b |\n|---|---|\n| 1 |  |\n", words.table(["a", "b"], [[1, ""]]))

    def test_a_size_within_32_bytes_is_near(self):
        near = [named_sizes.is_near(size, 512) for size in (479, 480, 544, 545)]
        self.assertEqual([False, True, True, False], near)

    def test_a_named_size_without_a_bad_one_is_good_where_one_just_below_was_tried(self):
        bad, tried = [512, 1000], [480, 512, 1000, 1504, 1535, 2048, 2049, 2527, 3072]
        absent = named_sizes.absent_from(bad, tried)
        self.assertEqual([1536], absent.good)
        self.assertEqual([2048, 2560, 3072, 4096], absent.untried)
        self.assertEqual(
            " Not near 1536 B. Just below 2048, 2560, 3072 and 4096 B no size was tried.",
            absent.text(),
        )

    def test_a_doubtful_size_makes_its_named_size_unsure(self):
        absent = named_sizes.absent_from([500], [500, 1008], [504, 1008])
        self.assertEqual([1024], absent.unsure)
        self.assertIn(" Near 1024 B the runs disagree.", absent.text())

    def test_bad_sizes_near_no_named_one_are_told(self):
        self.assertEqual("", named_sizes.unnamed_text([500, 4128]))
        self.assertEqual(
            " Near none of the sizes that the paper names: 700 B.",
            named_sizes.unnamed_text([500, 700]),
        )


if __name__ == "__main__":
    unittest.main()
