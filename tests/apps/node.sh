#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Node.js runs worker threads that pass messages and share memory, asynchronous digests, compression
# and key derivation on its thread pool, JSON, buffers and a child process, and prints the same as
# without.
#
# Proof: the process reports allocations and acquisitions. JavaScript's own objects lie in V8's heap,
# which is mapped by itself; buffers, compilers' zones, libuv and OpenSSL call malloc, and all of their
# locks are mutexes.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
start "$@"
shows "worker threads, thread pool of digests and compression, buffers, child process" nodejs
need /usr/bin/node nodejs

cat >work.js <<'END'
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');
const { promisify } = require('util');
const { execFile } = require('child_process');

const count = Number(process.argv[2]);
const digest = (data) => crypto.createHash('sha256').update(data).digest('hex');

if (!isMainThread) {
    const shared = new Int32Array(workerData.shared);
    parentPort.on('message', (message) => {
        if (message === null) return parentPort.close();
        Atomics.add(shared, 0, message.list.length);
        const block = Buffer.alloc(1000 + message.id % 5000, message.name);
        parentPort.postMessage({ id: message.id, digest: digest(block) });
    });
} else {
    let seed = 20090527;
    const random = (below) => { seed = seed * 16807 % 2147483647; return seed % below; };
    const records = [];
    for (let id = 0; id < count; id++)
        records.push({ id, name: `name ${random(100000)} `.repeat(1 + random(20)),
                       list: Array.from({ length: random(30) }, () => random(1000)) });

    const inWorkers = () => new Promise((resolve, reject) => {
        const shared = new SharedArrayBuffer(4);
        const answers = [];
        const workers = Array.from({ length: 4 }, () =>
            new Worker(__filename, { workerData: { shared }, argv: process.argv.slice(2) }));
        let ended = 0;
        for (const worker of workers) {
            worker.on('error', reject);
            worker.on('message', (answer) => {
                answers[answer.id] = answer.digest;
                if (Object.keys(answers).length === count)
                    workers.forEach((other) => other.postMessage(null));
            });
            worker.on('exit', () => {
                if (++ended === 4) resolve(`${digest(answers.join())} ${new Int32Array(shared)[0]}`);
            });
        }
        records.forEach((record) => workers[record.id % 4].postMessage(record));
    });

    (async () => {
        const text = JSON.stringify(records);
        console.log('json', digest(text), digest(JSON.stringify(JSON.parse(text))));
        console.log('workers', await inWorkers());
        const jobs = [];
        for (let i = 0; i < count / 20; i++) {
            jobs.push(promisify(zlib.deflate)(text.slice(i * 50, i * 50 + 20000))
                .then((packed) => promisify(zlib.inflate)(packed)).then(digest));
            jobs.push(promisify(crypto.pbkdf2)('word', `salt ${i}`, 50, 64, 'sha512').then(digest));
        }
        console.log('pool', digest((await Promise.all(jobs)).join()));
        const buffers = records.map((record) => Buffer.from(record.name.repeat(20)));
        console.log('buffers', digest(Buffer.concat(buffers.reverse())));
        const child = await promisify(execFile)(process.execPath,
            ['-e', 'console.log([..."child"].reverse().join(""))']);
        console.log('child', child.stdout.trim());
    })().catch((error) => { console.error(error); process.exit(1); });
}
END

count=$(quick_or_full 200 4000)
twice node 1000 1000 /usr/bin/node work.js "$count"
[[ $(wc -l <node-preloaded.output) == 5 ]] || fail "node did not finish its work"
say "node: $count records, 5 lines as without"
