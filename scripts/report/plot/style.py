# SPDX-License-Identifier: MIT
"""How the page looks."""

STYLE = """\
<style>
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --bad: #a50f15; \
--good: #0b6e4f; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem 4rem; color: var(--ink); \
background: #fff;
       font: 1rem/1.55 system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; \
border-top: 1px solid var(--line); }
p, ul { max-width: 46rem; } p.where { color: var(--soft); margin-top: 0; }
figure { margin: 1.4rem 0 2rem; } figcaption { color: var(--soft); font-size: .92rem; \
max-width: 46rem; margin-top: .4rem; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; }
.wide > svg { display: block; width: 100%; min-width: 42rem; height: auto; }
table { border-collapse: collapse; font-size: .92rem; margin: .6rem 0 1.4rem; min-width: 34rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { text-align: left; padding: .28rem .8rem .28rem 0; \
border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; } \
td.bad { color: var(--bad); font-weight: 600; } td.good { color: var(--good); }
tbody + tbody tr:first-child td { border-top: 2px solid #8c959f; }
.warn { border-left: 4px solid #bf6a02; background: #fff6e9; padding: .6rem 1rem; \
margin: 1.2rem 0; max-width: 50rem; }
.warn p { margin: .1rem 0; font-weight: 600; } .warn ul { margin: .3rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; \
font-size: .95rem; margin: .6rem 0 1.2rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: #f6f8fa; padding: .7rem .9rem; overflow-x: auto; font-size: .88rem; \
border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } \
h1 { font-size: 1.4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } \
.wide { overflow: visible; } .wide > svg { min-width: 0; }
  figure, tbody, .warn { break-inside: avoid; } table { min-width: 0; } \
pre { border: 1px solid var(--line); } }
</style>
"""
