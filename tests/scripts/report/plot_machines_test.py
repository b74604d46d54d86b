# SPDX-License-Identifier: MIT
"""What is known of the machines."""

import unittest

from plot.machines import check_caches, fact_of_processor, machines_of, warnings_of
from plot_examples import result, ring
from rows import Refused

ONE = ("sweep_command=mplace", "host=one", "cpu=A", "rtm=absent", "warning=hot")
TWO = ("host=two", "cpu=B", "rtm=usable", "warning=hot", "warning=busy")


def facts(*results):
    return [list(machine.facts) for machine in machines_of(results)]


class Tests(unittest.TestCase):
    def test_a_line_with_a_host_begins_a_machine(self):
        machines = machines_of([result(ring(), machine=ONE + TWO)])
        self.assertEqual([machine.fact("host") for machine in machines], ["one", "two"])

    def test_each_host_is_there_once(self):
        described = [result(ring(), machine=ONE), result(ring(), machine=("host=one", "cpu=C"))]
        self.assertEqual([machine.fact("cpu") for machine in machines_of(described)], ["A"])

    def test_lines_about_the_sweep_are_no_facts(self):
        machine = ("sweep_library=x", "host=one", "no fact", "Upper=1", "cpus=2")
        self.assertEqual(facts(result(machine=machine)), [[("host", "one"), ("cpus", "2")]])

    def test_a_value_may_have_an_equals_sign(self):
        self.assertEqual(facts(result(machine=("cpu=a=b",))), [[("cpu", "a=b")]])

    def test_without_a_description_the_rows_say_host_and_processor(self):
        rows = [ring(), ring(size=65), ring(host="other")]
        self.assertEqual(
            facts(result(*rows), result(ring())),
            [
                [("host", "somewhere"), ("cpu", "Some CPU")],
                [("host", "other"), ("cpu", "Some CPU")],
            ],
        )

    def test_a_fact_is_of_the_processor_that_is_named(self):
        machines = machines_of([result(machine=ONE + TWO)])
        self.assertEqual(fact_of_processor(machines, "B", "rtm"), "usable")
        self.assertEqual(fact_of_processor(machines, "C", "rtm"), "")
        self.assertEqual(fact_of_processor(machines, "A", "l1d"), "")

    def test_a_cache_of_no_size_is_refused_by_its_line(self):
        one = result(ring(), machine=("host=one", "l1d=64x12x64", "host=two", "l1d=unknown"))
        check_caches([one, result(ring())])
        for shape in ("0x0x0", "64", "", "64x12x64x2"):
            damaged = result(ring(), machine=("host=one", f"l1d={shape}"))
            with self.assertRaisesRegex(Refused, f"[.]machine, line 2: 'l1d={shape}' is no cache, such as "):
                check_caches([one, damaged])

    def test_each_warning_is_there_once(self):
        self.assertEqual(warnings_of(machines_of([result(machine=ONE + TWO)])), ("hot", "busy"))


if __name__ == "__main__":
    unittest.main()
