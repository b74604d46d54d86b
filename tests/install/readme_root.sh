#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The two commands of the README in an empty Debian, with nothing beside the tree: first reproduce.sh, whose
# packages test.sh finds there. Both are shortened: reproduce.sh --brief measures nothing, and of the tests
# run the label unit and those of the package, which need the most tools. What is not shortened is what
# they install and build. Usage: readme_root.sh SOURCE BUILD. Exit status: 0; 1 something did not work; 77
# this machine cannot tell.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=root_common.bash
source "$(dirname -- "$0")/root_common.bash"
need tar
enter "$@"
make_root

# The files that a clone would have, as they are now; of a tree without git all but what builds leave.
mkdir -p "$root/mplace-test/tree"
if files=$(git -C "$source" ls-files --cached --others --exclude-standard 2>/dev/null); then
    (cd -- "$source" && tar -cf - --ignore-failed-read -T <(printf '%s\n' "$files"))
else
    tar -C "$source" --exclude='./build*' --exclude=./out -cf - .
fi 2>/dev/null | tar -C "$root/mplace-test/tree" -xf -

check "what is beside the tree" 'ls -A' '^tree$'
check "the first command" 'cd tree && scripts/reproduce.sh --brief && test -s out/index.html' '^The figures: .*/out/index.html'
check "its emulated part" 'cd tree/out && cut -d, -f2,4,5 ring-emulated-64x12.csv' '^cia,emulated,1008$'
check "the second command" 'cd tree && scripts/test.sh -L unit' '^100% tests passed'
# No other compiler is among what they install.
check "the tests of the package" 'cd tree && scripts/test.sh --no-install -L preload -R "^install[.]" -E "[.]clang_"' \
    '^100% tests passed'
check "none of them was skipped" '! grep -i skipped tree/build/Testing/Temporary/LastTest.log && echo none' '^none$'
