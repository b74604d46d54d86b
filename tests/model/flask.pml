/*
 * SPDX-License-Identifier: MIT
 *
 * The FLASK home of the simulated chip, as sim/chip/coherence does it: three cores, two blocks, a
 * directory of one entry, a bank of one place. Cores load, store and evict as they like; messages
 * between two agents keep their order and take any time. Each event of an agent is one step, as it
 * is in the simulator, and an inline has the name of the C function that it mirrors:
 *
 *   fabric.c        load_tokens, take_tokens
 *   requester.c     access, granted, is_satisfied, satisfy; evict_copy is requester_put
 *   responder.c     grant, acknowledge, give_read, give_all, flush_core
 *   flask.c         whom, served, forget
 *   home.c          home_entry_new, home_entry_served, home_entry_left, home_begin
 *   transactions.c  all the others; where C calls serve or close_transaction, `todo` names it, for
 *                   an inline cannot call itself; acknowledged and unblock are cases of
 *                   transactions_receive
 *   check.c         check_load, check_store, check_block
 *   mutants.h       a rule is taken out by -D and its name
 *
 * Whoever changes one of these functions changes its inline. What is simpler than in C:
 *   - A core waits for one miss at a time. A cache evicts any copy for which it does not wait.
 *   - What a home has of a block is `at_home`, in its bank if `in_bank` names the block, and else
 *     `held` by the transaction.
 *   - Memory is written when the home sends STORE and read when it sends FETCH: that way is in
 *     order. Its data take any time.
 *   - The filter counts exactly. It may claim a block that it has not (FALSE_POSITIVES times), and
 *     have no room for a block beside the other one (FLUSHES times).
 *   - There is no adaptive partition.
 *
 * A copy that may be read has the last store's data at all times: so a load that hits is no step.
 * Versions count the stores to a block.
 *
 *   -DACCESSES=n -DEVICTIONS=n -DFALSE_POSITIVES=n -DFLUSHES=n  how many there are at most
 *   -DSHARED  at first cores 0 and 1 share block 0, which has the entry, and core 2 has block 1
 */
#include "reached.pml"

#ifndef ACCESSES
#define ACCESSES 3
#endif
#ifndef EVICTIONS
#define EVICTIONS 1
#endif
#ifndef FALSE_POSITIVES
#define FALSE_POSITIVES 0
#endif
#ifndef FLUSHES
#define FLUSHES 0
#endif

#define CORES   3
#define BLOCKS  2
#define TOKENS  CORES
#define ALL     7 /* cores, as a set */
#define NOBODY  CORES
#define NOTHING BLOCKS
/* Messages under way from a core to its home, and back. A step that finds no room is an error. */
#define HOME_ROOM 6
#define CORE_ROOM 4

#define bit_of(core) (1 << (core))

/* enum message_type */
mtype = { READ, WRITE, UNBLOCK, PUT, ACK, FLUSHED, ASK_READ, ASK_WRITE, RECALL, GRANT, FLUSH };

/* struct message: type, number, version, block, owner, dirty, data, report, answer. `number`: the
 * tokens; of UNBLOCK the cores that gave something; of what a home asks, the requester. */
chan to_home[CORES] = [HOME_ROOM] of { mtype, byte, byte, bit, bit, bit, bit, bit, bit };
chan to_core[CORES] = [CORE_ROOM] of { mtype, byte, byte, bit, bit, bit, bit, bit, bit };
/* GRANT from core i to core j at 3 * i + j, from memory to core i at 3 * i + i: tokens, version,
 * block, owner, dirty, data. */
chan grants[9] = [1] of { byte, byte, bit, bit, bit, bit };

/* struct line */
typedef line {
    unsigned tokens : 3;
    bit owner;
    bit dirty;
    bit valid;
    unsigned version : 3
};

line copies[6]; /* of core i and block b at 2 * i + b */
line at_home[BLOCKS];
byte in_bank = NOTHING;
byte in_memory[BLOCKS]; /* versions */
byte latest[BLOCKS];

/* struct mshr */
typedef miss {
    bit used;
    bit block;
    bit write;
    unsigned answered : 3
};
miss misses[CORES];

/* struct transaction; `waiting`: its requests that wait, core and write */
#define READING   0
#define WRITING   1
#define RECALLING 2
typedef transaction {
    bit under_way;
    unsigned kind : 2;
    unsigned requester : 2;
    unsigned asked : 3;
    unsigned answered : 3;
    unsigned found : 3;
    unsigned awaited : 2;
    unsigned supplied_by : 2; /* 1 + the core */
    bit supplied;
    bit unblocked;
    bit rebuilt;
    bit owner
};
transaction transactions[BLOCKS];
chan waiting[BLOCKS] = [CORES] of { byte, bit };

/* the directory's entry */
byte entry = NOTHING, entry_owner = NOBODY, sharers;
/* the filter */
byte in_filter[BLOCKS];

byte accesses, evictions, false_positives, flushes;

/* struct seen of check.c: what is on its way */
byte tokens_sent[BLOCKS], owners_sent[BLOCKS];

/* The message that an agent receives, what it sends, and scratch of single steps. */
hidden mtype type;
hidden byte block, owner, dirty, data, report, answer, number, version;
hidden byte m_tokens, m_owner, m_dirty, m_data, m_version;
hidden byte given, last_one, supplies, other, other_block, cores, held, forwarded, sum, owners;
hidden byte request_core, request_write, todo;

#define NONE  0
#define SERVE 1
#define CLOSE 2

#define copy_of(core, b) copies[2 * (core) + (b)]
#define is_pending(core, b) (misses[core].used && misses[core].block == (b))

/* ---- fabric ---- */

/* The message that follows takes them: m_tokens, m_owner, m_dirty, m_data, m_version. */
inline load_tokens(l, count, with_owner, with_data)
{
    m_tokens = count;
    m_owner = with_owner;
    m_data = with_data && l.valid;
    m_version = (m_data -> l.version : 0);
    m_dirty = 0;
    l.tokens = l.tokens - m_tokens;
    if
    :: m_owner -> m_dirty = l.dirty; l.owner = 0; l.dirty = 0
    :: else
    fi;
    if
    :: l.tokens == 0 -> l.valid = 0; l.version = 0
    :: else
    fi
}

inline take_tokens(l)
{
    l.tokens = l.tokens + number;
    l.owner = l.owner | owner;
    l.dirty = l.dirty | dirty;
    if
    :: data -> l.valid = 1; l.version = version
    :: else
    fi
}

inline clear(l)
{
    l.tokens = 0; l.owner = 0; l.dirty = 0; l.valid = 0; l.version = 0
}

inline sent(b, count, with_owner)
{
    tokens_sent[b] = tokens_sent[b] + count;
    owners_sent[b] = owners_sent[b] + with_owner
}

inline received(b)
{
    tokens_sent[b] = tokens_sent[b] - number;
    owners_sent[b] = owners_sent[b] - owner
}

/* ---- check ---- */

inline check_load(core, b)
{
    assert(copy_of(core, b).version == latest[b])
}

inline check_store(core, b)
{
    other = 0;
    do
    :: other < CORES ->
        assert(other == core || !copy_of(other, b).valid);
        other++
    :: else -> break
    od;
    check_load(core, b);
    latest[b]++;
    copy_of(core, b).version = latest[b]
}

/* After each event. What is in memory has no tokens elsewhere. */
inline check_block(b)
{
    sum = tokens_sent[b] + at_home[b].tokens;
    owners = owners_sent[b] + at_home[b].owner;
    other = 0;
    do
    :: other < CORES ->
        sum = sum + copy_of(other, b).tokens;
        owners = owners + copy_of(other, b).owner;
        assert(copy_of(other, b).tokens > 0 ||
               (!copy_of(other, b).valid && !copy_of(other, b).owner));
        assert(!copy_of(other, b).valid || copy_of(other, b).version == latest[b]);
        other++
    :: else -> break
    od;
    assert(sum == TOKENS || sum == 0);
    assert(owners == (sum != 0))
}

inline check()
{
    check_block(0);
    check_block(1)
}

/* ---- requester ---- */

inline is_satisfied(core, l)
{
#ifdef ACK_NOT_AWAITED
    supplies = l.valid
#else
    supplies = l.valid && (!misses[core].write || l.tokens == TOKENS)
#endif
}

inline store(core, b)
{
    copy_of(core, b).dirty = 1;
    check_store(core, b)
}

inline satisfy(core)
{
    to_home[core]!UNBLOCK, misses[core].answered, 0, block, 0, 0, 0, copy_of(core, block).owner, 0;
    check_load(core, block);
    if
    :: misses[core].write -> store(core, block)
    :: else
    fi;
    misses[core].used = 0; misses[core].block = 0; misses[core].write = 0; misses[core].answered = 0
}

/* `from`: a core, or NOBODY */
inline granted(core, from)
{
    received(block);
    assert(copy_of(core, block).tokens > 0 || is_pending(core, block));
    take_tokens(copy_of(core, block));
    if
    :: is_pending(core, block) ->
        if
        :: from < CORES -> misses[core].answered = misses[core].answered | bit_of(from)
        :: else
        fi;
        is_satisfied(core, copy_of(core, block));
        if
        :: supplies -> satisfy(core)
        :: else
        fi
    :: else
    fi
}

#define may_access(core, b, w) \
    (accesses < ACCESSES && !misses[core].used && (w || !copy_of(core, b).valid))

inline access(core, b, w)
{
    accesses++;
    if
    :: w && copy_of(core, b).valid && copy_of(core, b).tokens == TOKENS -> store(core, b)
    :: else ->
        misses[core].used = 1;
        misses[core].block = b;
        misses[core].write = w;
        to_home[core]!(w -> WRITE : READ), 0, 0, b, 0, 0, 0, 0, 0
    fi
}

#define may_evict(core, b) \
    (evictions < EVICTIONS && copy_of(core, b).tokens > 0 && !is_pending(core, b))

inline put_copy(core, b, is_answer)
{
    given = copy_of(core, b).tokens;
    load_tokens(copy_of(core, b), given, copy_of(core, b).owner, 1);
    sent(b, m_tokens, m_owner);
    to_home[core]!PUT, m_tokens, m_version, b, m_owner, m_dirty, m_data, 0, is_answer
}

inline evict_copy(core, b)
{
    evictions++;
    put_copy(core, b, 0)
}

/* ---- responder ---- */

inline acknowledge(core, with_tokens, supplied_it)
{
    to_home[core]!ACK, 0, 0, block, 0, 0, 0, with_tokens, supplied_it
}

inline grant(core, count, with_owner, with_data)
{
    load_tokens(copy_of(core, block), count, with_owner, with_data);
#ifdef TOKEN_LOST
    m_tokens = (m_tokens > 1 -> m_tokens - 1 : m_tokens);
#endif
#ifdef COPY_KEPT
    if
    :: copy_of(core, block).tokens == 0 -> copy_of(core, block).valid = 1
    :: else
    fi;
#endif
    sent(block, m_tokens, m_owner);
    grants[3 * core + number]!m_tokens, m_version, block, m_owner, m_dirty, m_data
}

inline give_read(core)
{
    supplies = copy_of(core, block).owner && copy_of(core, block).valid;
    if
    :: supplies ->
        last_one = copy_of(core, block).tokens == 1;
        grant(core, 1, last_one, 1);
        REACHED("a core gave a reader its data")
    :: else
    fi;
    if
    :: report || !supplies -> acknowledge(core, copy_of(core, block).tokens > 0, supplies)
    :: else
    fi
}

inline give_all(core)
{
    if
    :: copy_of(core, block).tokens == 0 -> acknowledge(core, 0, 0)
    :: copy_of(core, block).tokens > 0 && type == RECALL -> put_copy(core, block, 1)
    :: else ->
        given = copy_of(core, block).tokens;
        last_one = copy_of(core, block).owner;
        grant(core, given, last_one, last_one)
    fi
}

/* What shares the full place of the filter is the other block. */
inline flush_core(core)
{
    other_block = 1 - block;
    if
    :: copy_of(core, other_block).tokens > 0 && !is_pending(core, other_block) ->
        put_copy(core, other_block, 0);
        REACHED("a copy was written back for want of room in the filter")
    :: else
    fi;
    to_home[core]!FLUSHED, 0, 0, block, 0, 0, 0, 0, 0
}

inline receive(core)
{
    if
    :: type == GRANT -> granted(core, NOBODY)
    :: type == FLUSH -> flush_core(core)
    :: type == ASK_READ -> give_read(core)
    :: else -> give_all(core)
    fi
}

#define MESSAGE type, number, version, block, owner, dirty, data, report, answer

proctype caches(byte me)
{
end:
    do
    :: d_step { to_core[me]?MESSAGE -> receive(me); check() }
    :: d_step { grants[0 + me]?number, version, block, owner, dirty, data ->
                granted(me, (me == 0 -> NOBODY : 0)); check() }
    :: d_step { grants[3 + me]?number, version, block, owner, dirty, data ->
                granted(me, (me == 1 -> NOBODY : 1)); check() }
    :: d_step { grants[6 + me]?number, version, block, owner, dirty, data ->
                granted(me, (me == 2 -> NOBODY : 2)); check() }
    :: d_step { may_access(me, 0, 0) -> access(me, 0, 0); check() }
    :: d_step { may_access(me, 0, 1) -> access(me, 0, 1); check() }
    :: d_step { may_access(me, 1, 0) -> access(me, 1, 0); check() }
    :: d_step { may_access(me, 1, 1) -> access(me, 1, 1); check() }
    :: d_step { may_evict(me, 0) -> evict_copy(me, 0); check() }
    :: d_step { may_evict(me, 1) -> evict_copy(me, 1); check() }
    od
}

/* ---- home and directory ---- */

/* directory_victim refuses a block in a transaction. */
inline home_entry_new(b)
{
    if
    :: entry == NOTHING || !transactions[entry & 1].under_way ->
        if
        :: entry != NOTHING && sharers != 0 -> REACHED("an entry went, and its copies stayed")
        :: else
        fi;
        entry = b; sharers = 0; entry_owner = NOBODY
    :: else -> REACHED("no entry was made: the other block was in a transaction")
    fi
}

inline home_entry_remove()
{
    entry = NOTHING; sharers = 0; entry_owner = NOBODY
}

inline home_entry_served(b)
{
    if
    :: entry == b ->
        if
        :: transactions[b].kind == WRITING -> sharers = bit_of(transactions[b].requester)
        :: else ->
#ifndef SHARER_FORGOTTEN
            sharers = sharers | bit_of(transactions[b].requester)
#else
            skip
#endif
        fi;
        if
        :: transactions[b].owner -> entry_owner = transactions[b].requester
        :: else
        fi
    :: else
    fi
}

inline home_entry_left(b, core)
{
    if
    :: entry == b ->
        sharers = sharers & ~bit_of(core);
        if
        :: owner -> entry_owner = NOBODY
        :: else
        fi;
        if
        :: sharers == 0 && !transactions[b].under_way -> home_entry_remove()
        :: else
        fi
    :: else
    fi
}

/* ---- flask ---- */

#define home_serves_alone(b) \
    (at_home[b].tokens > 0 && (transactions[b].kind == READING || at_home[b].tokens == TOKENS))

/* Into `cores`. */
inline whom(b)
{
    if
    :: home_serves_alone(b)
    :: !home_serves_alone(b) && entry == b && sharers != 0 ->
        cores = sharers & ~bit_of(transactions[b].requester);
        if
        :: transactions[b].kind == READING && entry_owner != NOBODY ->
            cores = cores & bit_of(entry_owner)
        :: else
        fi;
        REACHED("the cores of the entry were asked")
    :: else ->
        held = in_filter[b] > 0;
        if
        :: !held && wrong -> held = 1; false_positives++
        :: else
        fi;
#ifdef FILTER_FALSE_NEGATIVE
        held = 0;
#endif
        if
        :: held ->
            transactions[b].rebuilt = 1;
            cores = ALL & ~bit_of(transactions[b].requester)
        :: else
        fi
    fi
}

inline served(b)
{
    if
    :: transactions[b].rebuilt && transactions[b].found != 0 ->
        REACHED("case 3: the entry was made again from the answers");
        if
        :: entry != b -> home_entry_new(b)
        :: else
        fi;
        if
        :: entry == b -> sharers = transactions[b].found
        :: else
        fi;
        if
        :: entry == b && transactions[b].supplied_by != 0 ->
            entry_owner = transactions[b].supplied_by - 1
        :: else
        fi
    :: else
    fi;
    home_entry_served(b)
}

/* Into `cores`. */
inline forget(b)
{
    cores = (entry == b && sharers != 0 -> sharers : ALL);
    if
    :: entry == b -> home_entry_remove()
    :: else
    fi
}

/* ---- transactions ---- */

inline reset(b)
{
    transactions[b].kind = 0; transactions[b].requester = 0; transactions[b].asked = 0;
    transactions[b].answered = 0; transactions[b].found = 0; transactions[b].awaited = 0;
    transactions[b].supplied_by = 0; transactions[b].supplied = 0; transactions[b].unblocked = 0;
    transactions[b].rebuilt = 0; transactions[b].owner = 0
}

inline write_back(b)
{
#ifndef DIRTY_DATA_DROPPED
    if
    :: at_home[b].dirty -> in_memory[b] = at_home[b].version
    :: else
    fi
#else
    skip
#endif
}

/* The cores are in `cores`. */
inline ask(b, what)
{
    transactions[b].asked = cores;
    other = 0;
    do
    :: other < CORES ->
        if
        :: (cores & bit_of(other)) != 0 ->
            to_core[other]!what, transactions[b].requester, 0, b, 0, 0, 0,
                           transactions[b].rebuilt, 0
        :: else
        fi;
        other++
    :: else -> break
    od
}

inline begin_recall(b)
{
    transactions[b].kind = RECALLING;
    transactions[b].answered = 0;
    ask(b, RECALL);
    REACHED("tokens were recalled")
}

/* The bank's only place. During a transaction of the block, that keeps what was there. */
inline evict(b)
{
    in_bank = NOTHING;
    if
    :: transactions[b].under_way -> REACHED("a transaction kept what its bank had no place for")
#ifdef RECALL_SKIPPED
    :: !transactions[b].under_way -> write_back(b); clear(at_home[b])
#else
    :: !transactions[b].under_way && at_home[b].tokens == TOKENS -> write_back(b); clear(at_home[b])
    :: else ->
        reset(b);
        transactions[b].under_way = 1;
        transactions[b].requester = from;
        forget(b);
        begin_recall(b)
#endif
    fi
}

inline filter_remove(b)
{
#ifdef FILTER_REMOVED_EARLY
    in_filter[b] = (in_filter[b] > 0 -> in_filter[b] - 1 : 0)
#else
    if
    :: at_home[b].tokens == TOKENS -> assert(in_filter[b] > 0); in_filter[b]--
    :: else
    fi
#endif
}

inline keep(b)
{
    if
    :: at_home[b].tokens == 0 &&
       !(transactions[b].under_way && transactions[b].kind == RECALLING) ->
        if
        :: in_bank != NOTHING -> evict(1 - b)
        :: else
        fi;
        in_bank = b
    :: else
    fi;
    take_tokens(at_home[b]);
    filter_remove(b)
}

inline give_copy(b)
{
    given = (at_home[b].tokens == TOKENS || transactions[b].kind == WRITING ->
             at_home[b].tokens : 1);
    last_one = at_home[b].owner && given == at_home[b].tokens;
    if
    :: at_home[b].tokens == TOKENS ->
        in_filter[b]++;
        REACHED("case 2: the bank gave all tokens")
    :: else
    fi;
    load_tokens(at_home[b], given, last_one, last_one || transactions[b].kind != WRITING);
    if
    :: at_home[b].tokens == 0 && in_bank == b -> in_bank = NOTHING
    :: else
    fi;
    transactions[b].supplied = 1;
    sent(b, m_tokens, m_owner);
    to_core[transactions[b].requester]!GRANT, m_tokens, m_version, b, m_owner, m_dirty, m_data, 0, 0
}

inline fetch(b)
{
    in_filter[b]++;
    if
    :: transactions[b].rebuilt ->
        transactions[b].rebuilt = 0;
        REACHED("no core had what the filter claimed")
    :: else -> REACHED("case 1: memory gave all tokens")
    fi;
    transactions[b].supplied = 1;
    sent(b, TOKENS, 1);
    grants[4 * transactions[b].requester]!TOKENS, in_memory[b], b, 1, 0, 1
}

inline flush(b)
{
    flushes++;
    transactions[b].awaited = CORES;
    other = 0;
    do
    :: other < CORES -> to_core[other]!FLUSH, 0, 0, b, 0, 0, 0, 0, 0; other++
    :: else -> break
    od
}

inline serve(b)
{
    cores = 0;
    if
    :: transactions[b].asked == 0 -> whom(b)
    :: else
    fi;
    if
    :: crowded && flushes < FLUSHES && cores == 0 && in_filter[1 - b] > 0 &&
       (at_home[b].tokens == 0 || at_home[b].tokens == TOKENS) -> flush(b)
    :: else ->
        supplies = at_home[b].tokens > 0;
        if
        :: supplies -> give_copy(b)
        :: else
        fi;
        if
        :: cores != 0 -> ask(b, (transactions[b].kind == WRITING -> ASK_WRITE : ASK_READ))
        :: else
        fi;
        if
        :: !supplies && cores == 0 -> fetch(b)
        :: else
        fi;
#ifdef UNBLOCK_EARLY
        if
        :: cores == 0 -> todo = CLOSE
        :: else
        fi
#endif
    fi
}

/* A request of `request_core`, a store if `request_write`. */
inline start(b)
{
    reset(b);
    transactions[b].under_way = 1;
    transactions[b].kind = (request_write -> WRITING : READING);
    transactions[b].requester = request_core;
    todo = SERVE
}

#define is_held(b) (at_home[b].tokens > 0 && in_bank != b)

inline close_transaction(b)
{
    if
    :: transactions[b].kind != RECALLING -> served(b)
    :: else
    fi;
    if
    :: is_held(b) && at_home[b].tokens != TOKENS && transactions[b].kind != RECALLING ->
        forget(b);
        begin_recall(b)
    :: else ->
        if
        :: is_held(b) -> write_back(b); clear(at_home[b])
        :: else
        fi;
        other = len(waiting[b]);
        if
        :: other > 0 ->
            waiting[b]?request_core, request_write;
            start(b);
            REACHED("a request waited for another one's end")
        :: else -> reset(b); transactions[b].under_way = 0
        fi
    fi
}

inline advance(b)
{
    held = (transactions[b].asked & ~transactions[b].answered) == 0;
    if
    :: transactions[b].kind == RECALLING -> todo = (held -> CLOSE : NONE)
    :: else ->
#ifdef SNOOPS_NOT_AWAITED
        held = (transactions[b].rebuilt -> transactions[b].found == 0 : held);
#endif
        if
        :: !transactions[b].supplied && transactions[b].asked != 0 && held -> todo = SERVE
        :: !(!transactions[b].supplied && transactions[b].asked != 0 && held) &&
           transactions[b].unblocked && held -> todo = CLOSE
        :: else
        fi
    fi
}

inline put(b)
{
    received(b);
#ifdef PUT_NOT_FORWARDED
    forwarded = 0;
#else
    forwarded = transactions[b].under_way && transactions[b].kind == WRITING &&
                (transactions[b].asked != 0 || transactions[b].supplied) &&
                !transactions[b].unblocked;
#endif
    home_entry_left(b, from);
    if
    :: transactions[b].under_way ->
        transactions[b].found = transactions[b].found & ~bit_of(from);
        transactions[b].supplied_by =
            (transactions[b].supplied_by == from + 1 -> 0 : transactions[b].supplied_by)
    :: else
    fi;
    if
    :: forwarded ->
        transactions[b].supplied = 1;
        sent(b, number, owner);
        to_core[transactions[b].requester]!GRANT, number, (owner -> version : 0), b,
                                           owner, dirty, owner, 0, 0;
        REACHED("what a core put back went on to a writer")
    :: else ->
        keep(b);
        if
        :: answer && transactions[b].under_way ->
            transactions[b].answered = transactions[b].answered | bit_of(from);
            advance(b)
        :: else
        fi
    fi
}

inline acknowledged(b)
{
    transactions[b].answered = transactions[b].answered | bit_of(from);
    if
    :: report -> transactions[b].found = transactions[b].found | bit_of(from)
    :: else
    fi;
    if
    :: answer -> transactions[b].supplied = 1; transactions[b].supplied_by = from + 1
    :: else
    fi;
    advance(b)
}

inline unblock(b)
{
    transactions[b].unblocked = 1;
    transactions[b].supplied = 1;
    if
    :: !transactions[b].rebuilt || transactions[b].kind == WRITING ->
        transactions[b].answered = transactions[b].answered | (number & transactions[b].asked)
    :: else
    fi;
    transactions[b].found = transactions[b].found | number;
    transactions[b].owner = report;
    advance(b)
}

inline transactions_receive(b)
{
    if
    :: (type == READ || type == WRITE) && transactions[b].under_way ->
        waiting[b]!from, type == WRITE
    :: (type == READ || type == WRITE) && !transactions[b].under_way ->
        request_core = from;
        request_write = type == WRITE;
        start(b)
    :: type == PUT -> put(b)
    :: type != READ && type != WRITE && type != PUT ->
#ifdef UNBLOCK_EARLY
        if
        :: !transactions[b].under_way -> type = READ /* too late, and taken for nothing */
        :: else
        fi;
#else
        assert(transactions[b].under_way);
#endif
        if
        :: type == ACK -> acknowledged(b)
        :: type == UNBLOCK -> unblock(b)
        :: type == FLUSHED ->
            transactions[b].awaited--;
            todo = (transactions[b].awaited == 0 -> SERVE : NONE)
        :: else
        fi
    fi;
    do
    :: todo == SERVE -> todo = NONE; serve(b)
    :: todo == CLOSE -> todo = NONE; close_transaction(b)
    :: else -> break
    od
}

/* What the filter will say is chosen first, as a d_step chooses nothing. */
proctype home()
{
    byte from;
    bit wrong, crowded;

end:
    do
    :: atomic {
        if
        :: nempty(to_home[0]) -> from = 0
        :: nempty(to_home[1]) -> from = 1
        :: nempty(to_home[2]) -> from = 2
        fi;
        if
        :: false_positives < FALSE_POSITIVES -> wrong = 1
        :: true
        fi;
        if
        :: flushes < FLUSHES -> crowded = 1
        :: true
        fi;
        d_step {
            todo = NONE;
            to_home[from]?MESSAGE;
            transactions_receive(block);
            check();
            from = 0; wrong = 0; crowded = 0
        }
    }
    od
}

/* When nothing more happens, every request has ended. */
proctype last()
{
    timeout;
    assert(accesses == ACCESSES);
    assert(!misses[0].used && !misses[1].used && !misses[2].used);
    assert(!transactions[0].under_way && !transactions[1].under_way);
    assert(tokens_sent[0] == 0 && tokens_sent[1] == 0);
    REACHED("every request ended")
}

init {
    atomic {
#ifdef SHARED
        copies[0].tokens = 2; copies[0].owner = 1; copies[0].valid = 1;
        copies[2].tokens = 1; copies[2].valid = 1;
        entry = 0; sharers = 3; entry_owner = 0;
        copies[5].tokens = TOKENS; copies[5].owner = 1; copies[5].valid = 1;
        in_filter[0] = 1; in_filter[1] = 1;
#endif
        run caches(0);
        run caches(1);
        run caches(2);
        run home();
        run last()
    }
}
