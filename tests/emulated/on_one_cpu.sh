#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs a command on the first CPU that this process may use; it is killed after two minutes, for
# threads of real-time priority that never end would keep the CPU from everybody else.
#
#   usage: on_one_cpu.sh COMMAND [ARGUMENT...]
set -euo pipefail

first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
exec timeout --signal=KILL 120 taskset -c "$first" "$@"
