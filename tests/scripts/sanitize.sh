#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the unit tests with a sanitizer in a folder of its own and runs them; with ThreadSanitizer,
# those of code that threads share.
# Usage: sanitize.sh SOURCE FOLDER PRESET
set -euo pipefail

if [[ $# -ne 3 ]]; then
    echo "usage: $0 SOURCE FOLDER PRESET" >&2
    exit 2
fi
cd -- "$1"
cmake --preset "$3" -B "$2"
cmake --build "$2" --parallel 2
# ThreadSanitizer of older compilers cannot place its shadow where the kernel spreads addresses
# wider than it knew; without randomisation it can. Where that is not allowed, it has to do as it is.
plain=()
if setarch -R true 2>/dev/null; then
    plain=(setarch -R)
fi

chosen=(-L '^unit$')
if [[ $3 == tsan ]]; then
    chosen+=(-E '^unit\.(avl|cache_model|chip|cia_placement|cia_size_class|dram|full_lru|trace_damage)_')
fi
exec "${plain[@]}" ctest --test-dir "$2" --output-on-failure --no-tests=error --parallel 2 "${chosen[@]}"
