# SPDX-License-Identifier: MIT
"""The orders of names in figures and page."""

import unittest

from plot.order import as_bytes, by_version


def ordered(*names):
    return sorted(names, key=by_version)


class Tests(unittest.TestCase):
    def test_a_number_in_a_name_counts_as_a_number(self):
        self.assertEqual(ordered("64x12", "128x8", "64x8"), ["64x8", "64x12", "128x8"])

    def test_letters_come_before_other_signs(self):
        self.assertEqual(ordered("a b", "ab", "a-b"), ["ab", "a b", "a-b"])

    def test_a_tilde_comes_before_the_end(self):
        self.assertEqual(ordered("a", "a~1"), ["a~1", "a"])

    def test_a_name_comes_before_what_continues_it(self):
        self.assertEqual(ordered("ab", "a", "a1"), ["a", "a1", "ab"])

    def test_a_suffix_decides_between_names_that_are_the_same_before_it(self):
        names = ("host.z", "host2.a", "host.a", "host-2.a")
        self.assertEqual(ordered(*names), ["host.a", "host.z", "host2.a", "host-2.a"])

    def test_names_that_differ_in_zeros_alone_have_an_order(self):
        self.assertEqual(ordered("a01", "a1", "a001"), ["a001", "a01", "a1"])

    def test_bytes_that_are_no_text_come_after_text(self):
        self.assertEqual(sorted(["\udcff", "\uffff"], key=as_bytes), ["\uffff", "\udcff"])


if __name__ == "__main__":
    unittest.main()
