# SPDX-License-Identifier: MIT
"""The style of the page as HTML, beyond what all pages share.

The colours are of Okabe and Ito's palette, which most people can tell apart.
"""

import style

MORE = """\
body { max-width: 60rem; }
p, ul { margin: .4rem 0; }
.verdict { font-size: 1.1rem; border-left: 5px solid var(--fits); padding: .4rem .9rem; background: #eef5fa; }
.verdict.hurts { border-color: var(--over); background: #fdf1e8; }
figure { margin: .9rem 0; max-width: 44rem; }
svg text { font: 11px system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; fill: var(--soft); }
.fits { fill: var(--fits); }
.over { fill: var(--over); }
.axis { stroke: var(--soft); fill: none; }
.ways { stroke: var(--ink); stroke-dasharray: 4 3; fill: none; }
th, td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
/* Where the figures of the other allocator begin. */
.other { border-left: 1px solid var(--line); padding-left: .7rem; }
@media print { figure { max-width: 13cm; } }
"""

STYLE = style.sheet(MORE)
