#!/bin/bash
# SPDX-License-Identifier: MIT
#
# javac compiles a program of threads under the libraries, and the program (thread pools, parallel
# streams, monitors, direct buffers, compression, garbage collection by several threads) prints the
# same as without.
#
# Proof: both virtual machines report allocations and acquisitions. Java's own objects lie in a heap
# that is mapped by itself; compilers, class data, direct buffers and zlib call malloc, and the
# virtual machine's locks, a parked thread's too, are mutexes.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "javac; thread pools, parallel streams, monitors, direct buffers, zlib, parallel collector" \
    openjdk-17-jdk-headless openjdk-17-jre-headless
need /usr/bin/java default-jre-headless
need /usr/bin/javac default-jdk-headless

cat >Work.java <<'END'
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;
import java.util.zip.*;

public class Work {
    static final Object monitor = new Object();
    static int turn;

    static long checksum(int number) throws Exception {
        byte[] text = ("number " + number + " ").repeat(50 + number % 200).getBytes("UTF-8");
        Deflater deflater = new Deflater();
        deflater.setInput(text);
        deflater.finish();
        byte[] packed = new byte[text.length + 100];
        int length = deflater.deflate(packed);
        deflater.end();
        ByteBuffer direct = ByteBuffer.allocateDirect(length + 16);
        direct.put(packed, 0, length).flip();
        CRC32 crc = new CRC32();
        crc.update(direct);
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        byte[] back = new byte[text.length];
        if (inflater.inflate(back) != text.length || !Arrays.equals(back, text))
            throw new IllegalStateException("zlib lost data");
        inflater.end();
        return crc.getValue();
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);

        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> futures = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            futures.add(pool.submit(() -> checksum(number)));
        }
        long sum = 0;
        for (Future<Long> future : futures) sum += future.get();
        pool.shutdown();
        System.out.println("pool " + sum + " " + pool.awaitTermination(60, TimeUnit.SECONDS));

        ConcurrentHashMap<String, LongAdder> words = new ConcurrentHashMap<>();
        IntStream.range(0, count * 20).parallel().forEach(
            i -> words.computeIfAbsent("word " + i % 997, key -> new LongAdder()).add(i));
        System.out.println("words " + words.entrySet().stream()
            .sorted(Map.Entry.comparingByKey()).map(entry -> entry.getKey() + entry.getValue())
            .collect(Collectors.joining()).hashCode());

        // Each waits for its turn on one monitor, with a time out that must not matter.
        Thread[] players = new Thread[4];
        for (int p = 0; p < players.length; p++) {
            int me = p;
            players[p] = new Thread(() -> {
                for (int i = 0; i < count / 10; i++)
                    synchronized (monitor) {
                        try {
                            while (turn % players.length != me) monitor.wait(1000);
                        } catch (InterruptedException stop) { return; }
                        turn++;
                        monitor.notifyAll();
                    }
            });
            players[p].start();
        }
        for (Thread player : players) player.join();
        System.out.println("turns " + turn);

        // Threads that come and go, and garbage for the collector's threads.
        AtomicLong garbage = new AtomicLong();
        for (int round = 0; round < count / 50; round++) {
            Thread[] brief = new Thread[8];
            for (int t = 0; t < brief.length; t++) {
                brief[t] = new Thread(() -> {
                    List<byte[]> list = new LinkedList<>();
                    for (int i = 0; i < 200; i++) list.add(new byte[i * 10]);
                    garbage.addAndGet(list.stream().mapToInt(bytes -> bytes.length).sum());
                });
                brief[t].start();
            }
            for (Thread thread : brief) thread.join();
        }
        System.gc();
        System.out.println("garbage " + garbage.get());
    }
}
END

count=$(quick_or_full 500 5000)
plainly /usr/bin/javac Work.java 2>reference.err || fail "javac failed without any library"
sha256sum ./*.class >reference.classes
rm -f ./*.class
preloaded javac /usr/bin/javac Work.java 2>javac.err || fail "javac failed under the library"
prove javac "$pid" 10000 1000
sha256sum ./*.class >preloaded.classes
same "the compiled classes" reference.classes preloaded.classes
twice java 10000 1000 /usr/bin/java -XX:+UseParallelGC -XX:ParallelGCThreads=4 -Xmx256m Work "$count"
[[ $(wc -l <java-preloaded.output) == 4 ]] || fail "java did not finish its work"
say "java: $(wc -l <preloaded.classes) classes and 4 lines as without"
