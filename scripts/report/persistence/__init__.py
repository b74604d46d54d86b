# SPDX-License-Identifier: MIT
"""What the paper on loose-ordering consistency says, judged by rows of simulations."""
