# SPDX-License-Identifier: MIT
"""What gnuplot is told: large figures, narrow ones, and the small charts of the page."""
