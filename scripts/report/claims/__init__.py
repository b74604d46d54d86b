# SPDX-License-Identifier: MIT
"""mplace claims: each claim of the paper judged by the rows of sweeps, in Markdown."""
