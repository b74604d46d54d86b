# SPDX-License-Identifier: MIT
"""The statements of FLASK's paper on coherence, judged by rows of scripts/evidence/coherence.sh."""
