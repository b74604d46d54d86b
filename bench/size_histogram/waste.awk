#!/usr/bin/awk -f
# SPDX-License-Identifier: MIT
#
# How much of the blocks a table of size classes wastes on the requests that size_histogram counted.
# usage: awk -v classes="1 2 3 5 7 11" -f waste.awk HISTOGRAM...
# Prints requests, bytes asked for, bytes in blocks, and the waste in percent of the blocks.
BEGIN {
    n = split(classes, class, " ")
    if (n == 0) {
        print "waste.awk: give -v classes=\"LINES LINES ...\"" > "/dev/stderr"
        exit 2
    }
}
{
    i = 1
    while (i < n && class[i] < $1)
        i++
    if (class[i] >= $1) {
        requests += $2
        asked += $3
        blocks += $2 * class[i] * 64
    }
}
END {
    if (blocks > 0)
        printf "%.0f requests, %.0f B asked, %.0f B in blocks, %.1f %% wasted\n", requests, asked, blocks,
            100 * (blocks - asked) / blocks
}
