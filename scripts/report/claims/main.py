# SPDX-License-Identifier: MIT
"""mplace claims: each claim of the paper judged by the rows of sweeps, in Markdown.

A claim is judged for every setting that has rows for it. Where there is none, it says what is
missing and concludes nothing.
"""

import rows
from claims import elision, markdown, placement, sources, tlb, tree
from claims.points import add_up

CLAIMS = (
    placement.DEGRADATION,
    placement.MISSES,
    elision.FUTILE,
    elision.BANDS,
    placement.ORDER,
    placement.CLEAN,
    tlb.KNEE,
    tlb.TLB,
    elision.CAPACITY,
    tree.CONCURRENCY,
    tree.SAME,
    tree.WORSE,
)

HEAD = """\
# The claims of the paper, judged

The paper is "The Influence of Malloc Placement on TSX Hardware Transactional Memory" by Dice, \
Harris, Kogan, Lev
and Luchangco; its claims are given here in our words. *Measured* rows ran on the processor \
itself, *emulated* ones under an
emulator of transactions with a model of the cache: their counts mean something, their time does \
not.

* A size is *degraded* for an allocator that has less than 0.7 of the best allocator's rate, under \
the same lock; one
  allocator is *below* another where it has less than 0.95 of its rate. Rates are medians, \
and the fastest run must say so too, because
  other load makes runs slower, never faster; of two locks likewise. Where a median says so and \
a run does not, the runs disagree.
  *In general* means at 90 % of the sizes.
* *Nothing is elided* where 90 % of the transactions abort for capacity; capacity aborts *do not \
matter* below 1 %.
* A verdict by measured rows needs 3 runs of each size that it stands on, and where the paper names \
sizes, one just below
  each of them; else it says what was not measured.
* A size is *near* one that the paper names within 32 B, because an allocator's headers move it.

"""


def judgement(results):
    """Every claim judged by the rows of results, as Markdown."""
    judged = markdown.judgement(CLAIMS, add_up(results))
    return HEAD + sources.file_table(results) + sources.warnings(results) + "\n" + judged


def write_judgement(results):
    """Prints the judgement."""
    print(judgement(results), end="")


def main(arguments):
    """Prints the judgement of the results that are named; see rows.run_report."""
    return rows.run_report(arguments, write_judgement)
