# SPDX-License-Identifier: MIT
"""How the page looks, beyond what all pages share."""

import style

MORE = """\
p.where { color: var(--soft); margin-top: 0; }
th.n, td.n { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
td.bad { color: var(--bad); font-weight: 600; }
tbody + tbody tr:first-child td { border-top: 2px solid #8c959f; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: .6rem 1rem; }
.panels > div { break-inside: avoid; } .panels h3 { margin: .2rem 0 0 .5rem; }
.overview { display: none; break-inside: avoid; }
ul.key { break-after: avoid; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; list-style: none; margin: .3rem 0;
  padding: 0; color: #444c56; font-size: .88rem; max-width: none; }
ul.key svg { display: inline-block; width: 16px; height: 12px; }
.warn { border-left: 4px solid #bf6a02; background: #fff6e9; padding: .6rem 1rem; margin: 1.2rem 0; max-width: 50rem; }
.warn p { margin: .1rem 0; font-weight: 600; } .warn ul { margin: .3rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; font-size: .95rem;
  margin: .6rem 0 1.2rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } h1 { font-size: 1.4rem; } }
@media (min-width: 56rem) { .overview { display: block; } .panels.narrow { display: none; } }
@media print { .overview { display: block; } .panels.narrow { display: none; } figure { break-inside: auto; }
  .panels { grid-template-columns: 1fr 1fr; } }
"""

STYLE = style.sheet(MORE)
