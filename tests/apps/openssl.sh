#!/bin/bash
# SPDX-License-Identifier: MIT
#
# openssl makes keys, signs, verifies, encrypts and digests with the same bytes as without, and its
# speed command runs two processes to the end.
#
# Proof: all processes report allocations, and acquisitions: OpenSSL's locks are mostly rwlocks.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "digests, ciphers, signatures with fixed keys; speed -multi 2" openssl
need /usr/bin/openssl openssl

seq 1 "$(quick_or_full 20000 2000000)" >input
cat >work.sh <<'END'
set -e
umask 077
folder=$(mktemp -d "$TMPDIR/openssl.XXXXXX")
o=/usr/bin/openssl
$o dgst -sha512 -r input
$o dgst -sha3-256 -r input
$o enc -aes-256-cbc -pbkdf2 -S 0102030405060708 -pass pass:word -in input -out "$folder/cipher"
$o dgst -sha256 -r <"$folder/cipher"
$o enc -d -aes-256-cbc -pbkdf2 -S 0102030405060708 -pass pass:word -in "$folder/cipher" | cmp - input
$o genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$folder/rsa" 2>/dev/null
$o pkey -in "$folder/rsa" -pubout -out "$folder/rsa.public"
$o dgst -sha256 -sign "$folder/rsa" -out "$folder/signature" input
$o dgst -sha256 -verify "$folder/rsa.public" -signature "$folder/signature" input
$o genpkey -algorithm ed25519 -out "$folder/ed"
$o req -x509 -new -key "$folder/ed" -subj /CN=localhost -days 2 -out "$folder/certificate"
$o verify -CAfile "$folder/certificate" "$folder/certificate" | sed 's/.*: //'
$o x509 -in "$folder/certificate" -noout -subject
rm -r "$folder"
END
twice openssl 10000 1000 /bin/sh work.sh
preloaded speed /usr/bin/openssl speed -multi 2 -seconds 1 -bytes 1024 sha256 rsa2048 \
    >speed.output 2>speed.err || fail "openssl speed failed under the library"
prove speed all 1000 0
grep -q '^sha256 .*[0-9]k' speed.output || fail "openssl speed did not report"
say "openssl: $(wc -l <openssl-preloaded.output) lines as without; speed -multi 2 ended"
