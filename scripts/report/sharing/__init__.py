# SPDX-License-Identifier: MIT
"""The page of mplace doctor --sharing: which cache lines move between cores, and what that costs."""
