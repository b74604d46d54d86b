// SPDX-License-Identifier: MIT
// Writes and reads records as JSON, and sorts them into maps. Arguments: RECORDS SEED.
"use strict";

const count = Number(process.argv[2]);
let number = (Number(process.argv[3]) % 2147483646) + 1;

function next(below) {
    number = (number * 16807) % 2147483647;
    return number % below;
}

function record(id) {
    return {
        id,
        name: `record ${next(1000000000)}`,
        tags: Array.from({ length: 5 }, () => `tag${next(1000)}`),
        position: { x: next(1000000) / 1000000, y: next(1000000) / 1000000 },
    };
}

let total = 0;
for (let round = 0; round < 4; round++) {
    const text = JSON.stringify(Array.from({ length: count }, (_, id) => record(id)));
    const found = new Map();
    for (const entry of JSON.parse(text))
        for (const tag of entry.tags) {
            if (!found.has(tag))
                found.set(tag, []);
            found.get(tag).push(entry.name);
        }
    total += text.length + found.size + Buffer.from(text).toString("base64").length;
}
console.log(total);
