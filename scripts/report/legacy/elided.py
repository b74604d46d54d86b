# SPDX-License-Identifier: MIT
"""memcached under libttstle_lock.so in emulated transactions: counts of each run, of all locks and by lock."""

from dataclasses import dataclass

from evidence import rows as csv_rows

CAUSES = "conflict capacity explicit nested debug other".split()
COUNTS = ["acquisitions", "slow_path", "elided_nested", "tx_started", "tx_committed", *CAUSES]
NAMES = ["policy", "cpus", "seed", "operations", "lock", "locks", "htm"]
COLUMNS = [*NAMES, *COUNTS]
ALL, OTHERS = "all", "others"

# Under the emulator the program lies below this address, its heap above.
HEAP = 0x4000000
MUTEX_SIZE = 40
TABLE_SIZE = 8192 * MUTEX_SIZE


def cells(counts):
    """The counts of an object of the library's statistics."""
    return [counts[name] for name in COUNTS[:5]] + [counts["aborts"][name] for name in CAUSES]


def tables(locks):
    """The locks in groups, each with its name: a variable of the program alone, an array on the heap together."""
    groups = {}
    for lock in sorted(locks, key=lambda lock: int(lock["address"], 16)):
        address = int(lock["address"], 16)
        name = f"variable {address:#x}"
        if address >= HEAP:
            name = next(
                (
                    known
                    for known, members in groups.items()
                    if known.startswith("array")
                    and (address - int(members[0]["address"], 16)) % MUTEX_SIZE == 0
                    and address - int(members[0]["address"], 16) < TABLE_SIZE
                ),
                f"array {address:#x}",
            )
        groups.setdefault(name, []).append(lock)
    return groups


def lines_of(names, result):
    """The lines of a run: all locks, each group of those that the statistics show, and the others together."""
    lines = [[*names, ALL, result["locks_seen"], "emulated", *cells(result["totals"])]]
    for name, locks in tables(result["locks"]).items():
        sums = [sum(column) for column in zip(*map(cells, locks))]
        lines.append([*names, name, len(locks), "emulated", *sums])
    lines.append([*names, OTHERS, result["locks_seen"] - len(result["locks"]), "emulated", *cells(result["others"])])
    return lines


@dataclass(frozen=True)
class Row:
    """The counts of a run, of one group of locks."""

    policy: str
    cpus: int
    seed: int
    operations: int
    lock: str
    locks: int
    count: dict[str, int]

    @property
    def key(self):
        """What one row only is kept of."""
        return self.policy, self.cpus, self.seed, self.lock


def row_of(fields):
    """The row of a line of the table."""
    numbers = (int(fields[name]) for name in ("cpus", "seed", "operations"))
    counts = {name: int(fields[name]) for name in COUNTS}
    return Row(fields["policy"], *numbers, fields["lock"], int(fields["locks"]), counts)


def read(lines):
    """The rows of a table, each once: the last counts."""
    return csv_rows.read(lines, COLUMNS, "legacy", row_of)


def totals(rows):
    """The rows of all locks, by policy and processors; each has one for every seed."""
    runs = {}
    for row in rows:
        if row.lock == ALL:
            runs.setdefault((row.policy, row.cpus), []).append(row)
    return runs


def by_lock(rows, policy, cpus):
    """For each group of locks its counts added up over the seeds, those with most aborts first."""
    groups = {}
    for row in rows:
        if row.lock != ALL and (row.policy, row.cpus) == (policy, cpus):
            name = "array" if row.lock.startswith("array") and row.locks > 1 else row.lock
            name = "single ones on the heap" if name.startswith("array ") else name
            counts = groups.setdefault(name, dict.fromkeys(COUNTS, 0))
            for count in COUNTS:
                counts[count] += row.count[count]
    return sorted(groups.items(), key=lambda group: -sum(group[1][cause] for cause in CAUSES))
