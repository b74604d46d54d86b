# SPDX-License-Identifier: MIT
"""memcached's locks as transactions: the rows of scripts/evidence/legacy.sh, and the paper's tables and figures judged."""
