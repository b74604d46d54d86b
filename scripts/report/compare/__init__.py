# SPDX-License-Identifier: MIT
"""The tables of mplace compare: times, and memory over time."""
