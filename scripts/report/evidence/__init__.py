# SPDX-License-Identifier: MIT
"""What the reports share that judge a paper's statements by rows of simulations."""
