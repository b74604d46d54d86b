#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# libcia_malloc.so exports the malloc family, vfork and dlopen, without symbol versions, and what mplace.h declares: no
# symbol of a program can be caught by accident. usage: cia_exports_test.sh LIBCIA
set -euo pipefail

expected="__libc_calloc __libc_free __libc_malloc __libc_memalign __libc_pvalloc __libc_realloc
__libc_valloc __posix_memalign aligned_alloc calloc free free_aligned_sized free_sized mallinfo
mallinfo2 malloc malloc_info malloc_stats malloc_trim malloc_usable_size mallopt memalign
mplace_malloc_name mplace_malloc_usable_class mplace_malloc_value posix_memalign pvalloc realloc reallocarray valloc
vfork __vfork dlopen dlmopen"

diff <(tr ' ' '\n' <<<"$expected" | sort) <(nm -D --defined-only "$1" | awk '{print $3}' | sort)
