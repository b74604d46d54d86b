# SPDX-License-Identifier: MIT
"""The statements of Chandru and Mueller's paper on banks and controllers, judged by rows of scripts/evidence/banks.sh."""
