#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A virtual machine for Java that elides locks by RTM in the code that it generates: unmodified, its
# transactions commit under the emulator and no update is lost.
#
#   usage: java_locks.sh LEAST
#
# LEAST is how many transactions have to commit.
set -euo pipefail

folder=$(cd "$(dirname "$0")" && pwd)
options=(-Xmx64m -XX:+UseSerialGC -XX:-TieredCompilation -XX:CompileThreshold=500 -Xbatch
    -XX:+UnlockExperimentalVMOptions -XX:+UseRTMLocking)

if ! command -v java javac >/dev/null; then
    echo "skipped: no java and javac here (Debian: apt-get install default-jdk-headless)"
    exit 77
fi
# On a processor without RTM this is refused, but with other words than an unknown option.
answer=$(java "${options[@]}" -version 2>&1) || [[ $answer == *"RTM instructions are not available"* ]] || {
    echo "skipped: this Java knows no locks by RTM"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cat >"$work/Locks.java" <<'PROGRAM'
import java.util.HashMap;
import java.util.Random;

public class Locks {
    static final int THREADS = 3, ROUNDS = 20000;
    static final Object lock = new Object();
    static final HashMap<Integer, Integer> map = new HashMap<>();
    static int counter;

    static void work(int seed) {
        Random random = new Random(seed);
        for (int i = 0; i < ROUNDS; i++) {
            synchronized (lock) {
                counter++;
            }
            synchronized (map) {
                map.merge(random.nextInt(100), 1, Integer::sum);
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int seed = i;
            threads[i] = new Thread(() -> work(seed));
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        int sum = 0;
        for (int value : map.values())
            sum += value;
        System.out.println(counter + " " + sum);
        if (counter != THREADS * ROUNDS || sum != THREADS * ROUNDS)
            System.exit(1);
    }
}
PROGRAM
javac -d "$work" "$work/Locks.java"
"$folder/committed.sh" "$1" -- "$(command -v java)" "${options[@]}" -cp "$work" Locks
