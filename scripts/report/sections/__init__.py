# SPDX-License-Identifier: MIT
"""The page of mplace doctor --sections: which critical sections would commit as transactions, and what stops the rest."""
