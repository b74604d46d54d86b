# SPDX-License-Identifier: MIT
"""What all pages look like: for a phone, a desk, and paper. Nothing is fetched, and no script runs.

A table or picture that may be wider than the page lies in scrolled(): its hidden part is announced by a shadow at the
edge, which is gone where there is no more to see. Only style sheets can do that without a script: the white cover
of the shadow scrolls with the content, the shadow does not.
"""

from markup import escaped

BASE = """\
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --bad: #a50f15; --good: #0b6e4f;
  --fits: #0072b2; --over: #d55e00; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.4rem 1rem 3.5rem; color: var(--ink); background: #fff;
  font: 1rem/1.5 system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; overflow-wrap: anywhere; }
p, ul { max-width: 46rem; }
p, li, figcaption, caption { text-wrap: pretty; }
.soft, figcaption, caption { color: var(--soft); }
figure { margin: 1.3rem 0 1.8rem; }
figcaption { font-size: .92rem; max-width: 46rem; margin-top: .4rem; }
svg { display: block; width: 100%; height: auto; }
code { overflow-wrap: anywhere; }
pre { background: #f6f8fa; padding: .7rem .9rem; font-size: .88rem; border-radius: 4px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .6rem 0 1.4rem; background:
  linear-gradient(to right, #fff 40%, #fff0) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, #fff 40%, #fff0) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, #1b1f2455, #1b1f2400) left / .8rem 100% no-repeat scroll,
  linear-gradient(to left, #1b1f2455, #1b1f2400) right / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .92rem; }
caption { text-align: left; padding-bottom: .4rem; position: sticky; left: 0; width: min(46rem, 100vw - 2.2rem); }
th, td { text-align: left; padding: .28rem .9rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  font-variant-numeric: tabular-nums; }
@media print { @page { size: A4; margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; }
  pre { border: 1px solid var(--line); }
  .wide { overflow: visible; background: none; } table { font-size: 8.5pt; }
  th, td { padding-right: .5rem; white-space: normal !important; } }
"""


def sheet(more=""):
    """The style element of a page that adds some rules of its own."""
    return f"<style>\n{BASE}{more}</style>"


def opening(title, sheet_of_page):
    """The lines of a page up to its body. The title is HTML."""
    return [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"{sheet_of_page}</head><body>",
    ]


def scrolled(lines, label):
    """The lines in a box that scrolls sideways, by keys as well; label says what it is to who cannot see it."""
    return [f'<div class="wide" tabindex="0" role="region" aria-label="{escaped(label)}">', *lines, "</div>"]
