#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fills an array with words, joins them and splits them again. Arguments: WORDS SEED.
set -euo pipefail

number=$(($2 % 2147483646 + 1))
words=()
for ((i = 0; i < $1; i++)); do
    number=$((number * 16807 % 2147483647))
    words+=("word$number")
done
joined="${words[*]}"
read -r -a again <<<"$joined"
echo "${#joined} ${#again[@]}"
