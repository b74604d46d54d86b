# SPDX-License-Identifier: MIT
"""memcached's locks as transactions: the rows of scripts/legacy.sh, and the paper's Tables 1 to 4 judged by them."""
