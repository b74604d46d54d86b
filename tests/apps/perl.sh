#!/bin/bash
# SPDX-License-Identifier: MIT
#
# perl sorts, hashes, matches, packs and encodes generated data, and clones its interpreter into
# threads that pass records through queues, with the same digests printed as without. (Debian does
# not ship perl's own test suite.)
#
# Proof: the one process reports allocations and acquisitions: perl calls malloc for every scalar's
# body that outgrows its arenas, a thread's start copies all data, and shared variables live under
# a recursive lock made of a mutex and a condition variable.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "data structures, regular expressions, JSON and Storable; interpreter threads with queues" \
    perl-base perl
need /usr/bin/perl perl

cat >work.pl <<'END'
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;
use Digest::SHA 'sha256_hex';
use JSON::PP;
use Storable qw(freeze thaw);
use List::Util 'sum';

my ($records, $threads) = @ARGV;
my $seed = 19871218;
sub random { $seed = ($seed * 16807) % 2147483647; return $seed % shift }

my (%by_name, @all);
for my $i (1 .. $records) {
    my $name = join '', map { chr(97 + random(26)) } 0 .. 3 + random(12);
    my $record = {name => $name, id => $i, list => [map { random(1000) } 0 .. random(20)]};
    $record->{text} = $name x (1 + random(random(30) ? 10 : 500));
    push @all, $record;
    push @{$by_name{substr $name, 0, 2}}, $record;
    delete $by_name{(sort keys %by_name)[random(scalar keys %by_name)]} if $i % 50 == 0;
}
my $json = JSON::PP->new->canonical;
my $text = $json->encode(\@all);
print 'json ', sha256_hex($text), ' ', length $text, "\n";
my $copy = thaw(freeze($json->decode($text)));
print 'copy ', sha256_hex($json->encode($copy)), "\n";
print 'names ', sha256_hex(join ',', map { "$_->{name}:$_->{id}" }
    sort { $a->{name} cmp $b->{name} || $a->{id} <=> $b->{id} } @all), "\n";
my %words;
$words{$1}++ while $text =~ /([a-e]+[f-m]{2}(?:[n-z])+)/g;
print 'words ', sha256_hex(join ',', map { "$_=$words{$_}" } sort keys %words), "\n";
print 'groups ', sum(map { scalar @$_ } values %by_name), "\n";

# Each worker has copies of all of the above, made when it starts.
my $jobs = Thread::Queue->new;
my $results = Thread::Queue->new;
$jobs->limit = 16;
my $total :shared = 0;
my @workers = map { threads->create(sub {
    while (defined(my $job = $jobs->dequeue)) {
        my $sum = sum(@{$all[$job]{list}});
        { lock $total; $total += $sum }
        $results->enqueue({id => $all[$job]{id}, reverse => scalar reverse $all[$job]{text}});
    }
    return scalar @all;
}) } 1 .. $threads;
$jobs->enqueue($_) for 0 .. $#all;
$jobs->end;
print "worker $_\n" for map { $_->join } @workers;
my @done;
while (my $result = $results->dequeue_nb) { $done[$result->{id}] = $result->{reverse} }
print "total $total ", sha256_hex(join ',', map { $_ // 'lost' } @done[1 .. $#done]), "\n";
END

records=$(quick_or_full 300 3000)
threads=$(quick_or_full 3 6)
twice perl $((records * 5)) "$records" /usr/bin/perl work.pl "$records" "$threads"
[[ $(grep -c . perl-preloaded.output) == $((6 + threads)) ]] || fail "perl did not finish its work"
say "perl: $records records, $threads threads, digests as without"
