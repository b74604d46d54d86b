# SPDX-License-Identifier: MIT
"""The page of mplace doctor: what the placement of a program's heap blocks costs it."""
