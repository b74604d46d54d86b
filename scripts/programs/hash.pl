# SPDX-License-Identifier: MIT
# Fills a hash with strings, inverts it, and takes half of it away. Arguments: KEYS SEED.
use strict;
use warnings;

my ($keys, $number) = @ARGV;
my (%value_of, %times, $length);
$number = $number % 2147483646 + 1;
for my $key (1 .. $keys) {
    $number = $number * 16807 % 2147483647;
    $value_of{"key $key $number"} = "value " . "x" x ($number % 60);
}
$length += length $_ for keys %value_of;
$times{$_}++ for values %value_of;
delete $value_of{$_} for grep {/[02468] /} keys %value_of;
print "$length ", scalar(keys %times), " ", scalar(keys %value_of), "\n";
