#!/bin/bash
# SPDX-License-Identifier: MIT
#
# PHP opens its extensions with RTLD_DEEPBIND: they find the C library's malloc and free before any
# preloaded one, and end the process by the first block that strdup gives them unless that is
# cured. A script sorts, hashes, matches, encodes, compresses and stores objects by generators,
# closures and fibers, in two children of fork too, with the same digests printed as without.
#
# Proof: the processes report allocations. PHP's own allocator serves what the script makes from
# mappings, so that malloc sees classes, tables of names and extensions; with USE_ZEND_ALLOC=0, as in
# the second run, it sees everything. The interpreter takes next to no mutex.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "its extensions; data structures, expressions, JSON, zlib, closures, fibers, children of fork" \
    php8.2-cli php8.2-common
need /usr/bin/php php-cli

cat >work.php <<'END'
<?php
mt_srand(20041213);
[, $records] = $argv;
foreach (['json', 'pdo', 'zlib', 'tokenizer', 'pcntl', 'ctype'] as $extension) {
    if (!extension_loaded($extension)) {
        exit(1);
    }
}
$table = [];
for ($i = 0; $i < $records; $i++) {
    $table['key ' . mt_rand(0, $records)][] = str_repeat(chr(65 + $i % 26), mt_rand(0, 300));
}
ksort($table);
$hash = hash_init('sha256');
foreach ($table as $key => $values) {
    hash_update($hash, $key . implode(',', $values));
}
echo 'table ', hash_final($hash), "\n";
$json = json_encode($table);
echo 'json ', json_decode($json, true) === $table ? sha1($json) : 'lost', "\n";
echo 'zlib ', gzuncompress(gzcompress($json, 6)) === $json ? strlen($json) : 'lost', "\n";
echo 'stored ', unserialize(serialize($table)) == $table ? 'whole' : 'lost', "\n";
echo 'matches ', preg_match_all('/([A-Z])\1{20,}/', $json), ' ',
    strlen(preg_replace_callback('/[A-M]+/', fn($found) => strtolower($found[0]), $json)), "\n";
$source = '<?php ' . str_repeat('function name($a, $b) { return [$a => $b . "text"]; } ', 200);
echo 'tokens ', count(token_get_all($source)), "\n";

class Node
{
    public ?Node $next = null;
    public ?Node $other = null;
    public function __construct(public int $number)
    {
    }
}
for ($sum = 0, $i = 0; $i < $records; $i++) { // cycles, for the collector
    $one = new Node($i);
    $one->next = new Node($i + 1);
    $one->next->other = $one;
    $sum += $one->next->other->number;
}
echo 'cycles ', $sum, ' ', gc_collect_cycles() >= 0 ? 'collected' : '', "\n";

function squares($most)
{
    for ($i = 1; $i <= $most; $i++) {
        yield $i => $i * $i;
    }
}
echo 'generated ', array_sum(iterator_to_array(squares($records))), "\n";
$fibers = [];
for ($i = 0; $i < 20; $i++) {
    $fibers[] = $fiber = new Fiber(function ($start) {
        for ($sum = $start; $sum < 10000;) {
            $sum += Fiber::suspend($sum);
        }
        return $sum;
    });
    $fiber->start($i);
}
foreach ($fibers as $i => $fiber) {
    while (!$fiber->isTerminated()) {
        $fiber->resume($i + 7);
    }
    $sum += $fiber->getReturn();
}
echo 'fibers ', $sum, "\n";
for ($i = 0; $i < 2; $i++) {
    $child = pcntl_fork();
    if ($child === 0) {
        exit(strlen(json_encode($table)) === strlen($json) ? 20 + $i : 1);
    }
    pcntl_waitpid($child, $status);
    echo 'child ', pcntl_wexitstatus($status), "\n";
}
END

records=$(quick_or_full 3000 100000)
php=(/usr/bin/php -d memory_limit=-1 work.php "$records")
twice php 3000 0 "${php[@]}"
twice php-plain "$records" 0 env USE_ZEND_ALLOC=0 "${php[@]}"
[[ $(grep -c . php-preloaded.output) == 11 ]] || fail "php did not finish its work"
same "what php printed without its own allocator" php-preloaded.output php-plain-preloaded.output
say "php: $records records, extensions and digests as without"
