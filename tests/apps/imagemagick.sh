#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ImageMagick draws, blurs, rotates, composes and quantises pictures with four OpenMP threads, and the
# pixels are the ones without.
#
# Proof: the processes report allocations; pixel caches come from posix_memalign. Debian's ImageMagick
# is built with OpenMP, whose locks are libgomp's own: of the lock libraries only their presence to the
# end can be shown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "draws, blurs, rotates, composes and quantises with four OpenMP threads" \
    imagemagick-6.q16 libmagickcore-6.q16-6
convert=/usr/bin/convert-im6.q16
need "$convert" imagemagick

size=$(quick_or_full 100x80 500x400)
export OMP_NUM_THREADS=4 MAGICK_THREAD_LIMIT=4
picture() {
    local name=$1
    shift
    # The bare pixels: no format writes its date between them.
    plainly "$convert" "$@" -depth 8 "rgba:$name.reference" 2>reference.err ||
        fail "$name failed without any library"
    preloaded "$name" "$convert" "$@" -depth 8 "rgba:$name.pixels" 2>"$name.err" ||
        fail "$name failed under the library"
    prove "$name" "$pid" 1000 0
    [[ -s $name.pixels ]] || fail "$name has no pixels"
    same "the pixels of $name" "$name.reference" "$name.pixels"
}
picture drawn -size "$size" gradient:red-blue \( -size "$size" radial-gradient:white-black \) \
    -compose Multiply -composite -fill white -stroke green -draw 'circle 40,40 60,60'
picture blurred -size "$size" pattern:checkerboard -blur 0x4 -rotate 17 -wave 3x20 -sharpen 0x1
picture many -size 60x60 pattern:hexagons gradient:yellow-navy pattern:bricks -resize 150% \
    -modulate 120,80 -colors 32 +append -distort Barrel '0.1 0 0' -equalize
say "imagemagick: pixels of 3 pictures as without"
