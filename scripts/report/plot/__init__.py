# SPDX-License-Identifier: MIT
"""mplace plot: the figures of sweeps as gnuplot draws them, and the page that shows them."""
