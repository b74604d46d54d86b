#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ffmpeg encodes a generated picture and sound with four threads (H.264 by frames, FFV1 by slices),
# decodes both with four threads, filters by slices, and every frame's digest is the one without.
#
# Proof: each process reports allocations and acquisitions: decoder threads hand frames to each other
# under mutexes and condition variables. ffmpeg leaves by exit.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "encodes and decodes H.264, FFV1 and AAC with four threads" ffmpeg libavcodec59 libx264-164
need /usr/bin/ffmpeg ffmpeg

seconds=$(quick_or_full 1 3)
quietly=(/usr/bin/ffmpeg -hide_banner -loglevel error -nostdin -y -threads 4)
encode() {
    "$@" "${quietly[@]}" -f lavfi -i "testsrc2=size=320x240:rate=25:duration=$seconds" \
        -f lavfi -i "sine=frequency=440:duration=$seconds" \
        -map 0:v -c:v:0 libx264 -threads:v:0 4 -preset veryfast -map 0:v -c:v:1 ffv1 -level:v:1 3 \
        -slices:v:1 4 -threads:v:1 4 -map 1:a -c:a aac -flags +bitexact -fflags +bitexact made.mkv
}
# Each stream by itself: in which order their packets come is a matter of time.
streams() {
    "${quietly[@]}" -i "$1" -map 0 -c copy -f streamhash -hash md5 -
}
digest() {
    "$@" "${quietly[@]}" -i "$file" -map 0 -filter_threads 4 -filter:v:0 "yadif,scale=160:120,boxblur" \
        -flags +bitexact -f framemd5 -
}
encode plainly 2>reference.err || fail "ffmpeg failed to encode without any library"
mv made.mkv reference.mkv
streams reference.mkv >reference.streams 2>>reference.err || fail "ffmpeg failed without any library"
file=reference.mkv
digest plainly >reference.digests 2>>reference.err || fail "ffmpeg failed without any library"
encode preloaded encode 2>encode.err || fail "ffmpeg failed to encode under the library"
prove encode "$pid" 5000 500
streams made.mkv >made.streams 2>>reference.err || fail "ffmpeg cannot read what was encoded"
same "the encoded streams" reference.streams made.streams
file=made.mkv
digest preloaded decode >preloaded.digests 2>decode.err || fail "ffmpeg failed to decode under the library"
prove decode "$pid" 5000 500
[[ $(grep -vc '^#' preloaded.digests) -ge $((seconds * 50)) ]] || fail "ffmpeg decoded too few frames"
same "the digests of the frames" reference.digests preloaded.digests
say "ffmpeg: $(grep -vc '^#' preloaded.digests) digests of frames as without"
