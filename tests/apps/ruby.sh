#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Ruby runs threads that pass objects through sized queues and condition variables, ractors, a child
# of fork, collections with compaction, JSON, Marshal and big numbers, and prints the same as without.
#
# Proof: the interpreters report allocations and acquisitions: every object's body beyond 40 bytes is
# a malloc, and its global lock is a mutex and condition variables.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "threads with queues, ractors, fork, garbage collection with compaction, JSON, Marshal" ruby3.1
need /usr/bin/ruby ruby

cat >work.rb <<'END'
require 'json'
require 'digest'
require 'zlib'

count = ARGV[0].to_i
$stdout.sync = true
seed = 19950221
random = ->(below) { seed = seed * 16807 % 2147483647; seed % below }

records = (1..count).map do |i|
  { 'id' => i, 'name' => "name #{random[100_000]} " * (1 + random[random[40].zero? ? 400 : 8]),
    'list' => Array.new(random[30]) { random[1000] } }
end
text = JSON.generate(records)
puts "json #{Digest::SHA256.hexdigest(text)}"
puts "marshal #{Marshal.load(Marshal.dump(JSON.parse(text))) == records}"
puts "zlib #{Zlib::Inflate.inflate(Zlib::Deflate.deflate(text)) == text}"
puts "words #{text.scan(/name (\d+)/).flatten.group_by(&:size).transform_values(&:size).sort.inspect}"
puts "big #{Digest::SHA256.hexdigest((1..count / 2).inject(:*).to_s)}"

queue = SizedQueue.new(8)
totals = Hash.new(0)
mutex = Mutex.new
workers = Array.new(4) do
  Thread.new do
    while (record = queue.pop)
      body = record['name'].reverse * 2
      mutex.synchronize { totals[record['id'] % 7] += body.size + record['list'].sum }
    end
  end
end
records.each { |record| queue << record }
4.times { queue << nil }
workers.each(&:join)
puts "threads #{totals.sort.inspect}"

condition = ConditionVariable.new
turn = 0
players = Array.new(3) do |me|
  Thread.new do
    (count / 20).times do
      mutex.synchronize do
        condition.wait(mutex) until turn % 3 == me
        turn += 1
        condition.broadcast
      end
    end
  end
end
players.each(&:join)
puts "turns #{turn}"

Warning[:experimental] = false
ractors = Array.new(3) do |me|
  Ractor.new(me, count) { |id, n| (1..n).map { |i| "ractor #{id} #{i}" }.join.sum }
end
puts "ractors #{ractors.map(&:take).inspect}"

before = records.map { |record| record['name'].hash }
3.times { GC.start; GC.compact; Array.new(count * 10) { |i| "garbage #{i}" * 3 } }
puts "collected #{before == records.map { |record| record['name'].hash }}"

# A child of fork, made while another thread allocates.
busy = true
churn = Thread.new { while busy do Array.new(50) { 'x' * 100 } end }
3.times do
  from, to = IO.pipe
  child = fork do
    from.close
    to.write Digest::SHA256.hexdigest(records.sort_by { |record| record['name'] }.to_s)
    to.close
  end
  to.close
  puts "child #{from.read}"
  Process.wait(child)
  puts "child's status #{$?.exitstatus}"
end
busy = false
churn.join
END

count=$(quick_or_full 400 6000)
twice ruby $((count * 5)) "$count" /usr/bin/ruby work.rb "$count"
[[ $(wc -l <ruby-preloaded.output) == 15 ]] || fail "ruby did not finish its work"
say "ruby: $count records, 15 lines as without"
