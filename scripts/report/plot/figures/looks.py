# SPDX-License-Identifier: MIT
"""How series look: the colour and the shape say the allocator, so that either is enough."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """A place in the legend, a colour, and gnuplot's point types of one shape."""

    order: int
    colour: str
    open: int
    filled: int


# Okabe and Ito's colours, which all kinds of colour vision tell apart.
LOOKS = {
    "glibc": Look(1, "#D55E00", 6, 7),
    "jemalloc": Look(2, "#E69F00", 4, 5),
    "mimalloc": Look(3, "#CC79A7", 10, 11),
    "tcmalloc": Look(4, "#56B4E9", 14, 15),
    "rand": Look(5, "#009E73", 8, 9),
    "cia": Look(9, "#0072B2", 12, 13),
}
RAND_BEFORE_ANOTHER = Look(6, "#777777", 1, 2)
ANY_OTHER = Look(7, "#000000", 3, 3)


def look_of(malloc):
    """The look of an allocator."""
    if malloc.startswith("rand+"):
        return RAND_BEFORE_ANOTHER
    return LOOKS.get(malloc, ANY_OTHER)
