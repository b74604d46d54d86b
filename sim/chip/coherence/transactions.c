/*
 * SPDX-License-Identifier: MIT
 *
 * Transactions; see transactions.h.
 */
#include "chip/coherence/transactions.h"

#include "chip/coherence/check.h"
#include "chip/coherence/persist_hooks.h"

static void count(struct home *home, unsigned core, enum count what)
{
    fabric_count(home->fabric, core, what, 1);
}

static void write_back(struct home *home, uint64_t block, const struct line *line, unsigned core)
{
    struct fabric *fabric = home->fabric;
    struct message *store;

    if (!line->dirty || MUTANT(fabric, DIRTY_DATA_DROPPED))
        return;
    if (fabric->persist != NULL &&
        fabric->persist->evicted(fabric->persist->owner, home->agent, block, core)) {
        if (fabric->check != NULL)
            check_memory_written(fabric->check, block, line->version);
        return;
    }
    store = fabric_message(fabric, MESSAGE_STORE, home->agent, fabric_memory_agent(fabric, block),
                           block, core);
    store->data = true;
    store->version = line->version;
    fabric_send(fabric, store, home->when);
}

static void ask(struct home *home, struct transaction *transaction, enum message_type type,
                uint64_t cores)
{
    struct message *message = fabric_message(home->fabric, type, home->agent, 0, transaction->block,
                                             transaction->requester);

    message->report = transaction->rebuilt;
    transaction->asked = cores;
    fabric_multicast(home->fabric, message, cores, false, false, home->when);
}

/* All tokens that cores have come home, into transaction->held if that has some. */
static void begin_recall(struct home *home, struct transaction *transaction, uint64_t cores)
{
    transaction->kind = TRANSACTION_RECALL;
    transaction->answered = 0;
    ask(home, transaction, MESSAGE_RECALL, cores);
}

void transactions_recall(struct home *home, uint64_t block, uint64_t sharers, unsigned requester)
{
    struct transaction *recall;

    if (MUTANT(home->fabric, EVICTION_SILENT))
        return;
    recall = home_begin(home, block, TRANSACTION_RECALL, requester);
    recall->for_entry = true;
    begin_recall(home, recall, sharers);
}

/* The block of this place leaves the bank: to memory if all tokens are here, else they are
 * recalled; during a transaction of the block, that keeps it. */
static void evict(struct home *home, struct line *line, unsigned core)
{
    uint64_t block = *array_tag(&home->llc, line);
    struct transaction *transaction;

    if (persist_is_version(block)) {
        array_remove(&home->llc, line);
        home->fabric->persist->displaced(home->fabric->persist->owner, home->agent, block, core);
        return;
    }
    transaction = home_transaction(home, block);
    array_remove(&home->llc, line);
    if (transaction != NULL) {
        transaction->held = *line;
    } else if (line->tokens == home->fabric->tokens || MUTANT(home->fabric, RECALL_SKIPPED)) {
        write_back(home, block, line, core);
    } else {
        transaction = home_begin(home, block, TRANSACTION_RECALL, core);
        transaction->held = *line;
        begin_recall(home, transaction, home->policy->forget(home, block));
    }
}

/* The oldest version of a set. NULL: it has none. */
static struct line *oldest_version(const struct home *home, uint32_t first)
{
    const struct persist_hooks *persist = home->fabric->persist;
    uint64_t least = UINT64_MAX;
    struct line *oldest = NULL;

    for (uint32_t way = 0; persist != NULL && persist->age != NULL && way < home->llc.ways; way++) {
        uint64_t tag = home->llc.tags[first + way];

        if (persist_is_version(tag) && persist->age(persist->owner, tag) < least) {
            least = persist->age(persist->owner, tag);
            oldest = &home->llc.lines[first + way];
        }
    }
    return oldest;
}

/* The block of the set not used for longest, if possible one without a transaction; else the oldest
 * version. */
static struct line *place_for(struct home *home, uint64_t block)
{
    uint32_t first = array_set(&home->llc, block) * home->llc.ways;
    struct line *oldest = NULL;

    for (uint32_t way = 0; way < home->llc.ways; way++) {
        struct line *line = &home->llc.lines[first + way];

        if (home->llc.tags[first + way] == ARRAY_NONE)
            return line;
        if (persist_is_version(home->llc.tags[first + way]) && home->fabric->persist->age != NULL)
            continue;
        if ((oldest == NULL || line->stamp < oldest->stamp) &&
            !home_is_busy(home, home->llc.tags[first + way]))
            oldest = line;
    }
    if (oldest == NULL)
        oldest = oldest_version(home, first);
    return oldest != NULL ? oldest : array_victim(&home->llc, block);
}

struct line *transactions_place(struct home *home, uint64_t block, uint64_t tag, unsigned core)
{
    struct line *place = place_for(home, block);

    if (*array_tag(&home->llc, place) != ARRAY_NONE)
        evict(home, place, core);
    array_put(&home->llc, place, tag, &(struct line){0});
    return place;
}

/* The data of a block come to the bank. */
static void arriving(struct home *home, const struct message *message)
{
    const struct persist_hooks *persist = home->fabric->persist;

    if (message->owner && persist != NULL && persist->arriving != NULL)
        persist->arriving(persist->owner, message->block);
}

/* The block leaves this place for a core: a version of it may stay. */
static void departing(struct home *home, uint64_t block, struct line *place)
{
    const struct persist_hooks *persist = home->fabric->persist;

    if (persist == NULL || persist->departing == NULL ||
        !persist->departing(persist->owner, block, place))
        array_remove(&home->llc, place);
}

/* Tokens and data stay here. */
static void keep(struct home *home, const struct message *message)
{
    struct transaction *transaction = home_transaction(home, message->block);
    struct line *copy = home_copy(home, message->block);

    count(home, message->requester, COUNT_LLC_BLOCKS);
    if (copy == NULL && transaction != NULL && transaction->kind == TRANSACTION_RECALL &&
        !transaction->for_entry) {
        copy = &transaction->held;
    } else if (copy == NULL) {
        arriving(home, message);
        copy = place_for(home, message->block);
        if (*array_tag(&home->llc, copy) != ARRAY_NONE)
            evict(home, copy, message->requester);
        array_put(&home->llc, copy, message->block, &(struct line){0});
    } else if (transaction == NULL || copy != &transaction->held) {
        arriving(home, message);
        array_touch(&home->llc, copy);
    }
    fabric_take_tokens(copy, message);
    if (home->has_filter &&
        (copy->tokens == home->fabric->tokens || MUTANT(home->fabric, FILTER_REMOVED_EARLY))) {
        count(home, message->requester, COUNT_FILTER_LOOKUPS);
        if (!MUTANT(home->fabric, FILTER_REMOVED_EARLY) ||
            filter_holds(&home->filter, message->block))
            filter_remove(&home->filter, message->block);
    }
}

static void close_transaction(struct home *home, struct transaction *transaction);

static void give_copy(struct home *home, struct transaction *transaction, struct line *copy)
{
    struct fabric *fabric = home->fabric;
    bool all = copy->tokens == fabric->tokens;
    bool write = transaction->kind == TRANSACTION_WRITE;
    unsigned tokens = all || write ? copy->tokens : 1;
    bool owner = copy->owner && tokens == copy->tokens;
    struct message *grant =
        fabric_message(fabric, MESSAGE_GRANT, home->agent, transaction->requester,
                       transaction->block, transaction->requester);

    if (all && home->has_filter) {
        count(home, transaction->requester, COUNT_FILTER_LOOKUPS);
        filter_insert(&home->filter, transaction->block);
    }
    count(home, transaction->requester, COUNT_LLC_BLOCKS);
    fabric_load_tokens(grant, copy, tokens, owner, owner || !write);
    if (copy->tokens == 0 && copy != &transaction->held)
        departing(home, transaction->block, copy);
    transaction->supplied = true;
    fabric_send(fabric, grant, home->when);
}

static void fetch(struct home *home, struct transaction *transaction)
{
    struct fabric *fabric = home->fabric;
    unsigned core = transaction->requester;
    uint64_t block = transaction->block, place = block;
    struct message *message;

    if (home->has_filter) {
        count(home, core, COUNT_FILTER_LOOKUPS);
        filter_insert(&home->filter, transaction->block);
    }
    if (transaction->rebuilt) {
        home->false_positives++;
        count(home, core, COUNT_FILTER_FALSE_POSITIVES);
        transaction->rebuilt = false;
    }
    transaction->supplied = true;
    if (fabric->persist != NULL)
        place = fabric->persist->source(fabric->persist->owner, block);
    message = fabric_message(fabric, MESSAGE_FETCH, home->agent, fabric_memory_agent(fabric, place),
                             block, core);
    message->place = place;
    fabric_send(fabric, message, home->when);
}

/* The filter has no room: what shares a place with the block leaves the private caches first. */
static void flush(struct home *home, struct transaction *transaction)
{
    struct fabric *fabric = home->fabric;
    struct message *message = fabric_message(fabric, MESSAGE_FLUSH, home->agent, 0,
                                             transaction->block, transaction->requester);

    count(home, transaction->requester, COUNT_FILTER_OVERFLOWS);
    home->overflows++;
    transaction->awaited = (uint16_t)fabric->machine->core.count;
    fabric_multicast(fabric, message, fabric_all_cores(fabric), false, false, home->when);
}

/* Does what can be done for a request now; again when all cores had nothing, or after a flush. */
static void serve(struct home *home, struct transaction *transaction)
{
    struct line *copy = home_copy(home, transaction->block);
    bool write = transaction->kind == TRANSACTION_WRITE;
    uint64_t cores = 0;

    if (transaction->asked == 0 && !home->policy->whom(home, transaction, copy, &cores)) {
        transaction->next = home->stalled;
        home->stalled = transaction;
        return;
    }
    if (home->has_filter && cores == 0 && (copy == NULL || copy->tokens == home->fabric->tokens) &&
        !filter_has_room(&home->filter, transaction->block)) {
        flush(home, transaction);
        return;
    }
    if (copy != NULL)
        give_copy(home, transaction, copy);
    if (cores != 0)
        ask(home, transaction, write ? MESSAGE_ASK_WRITE : MESSAGE_ASK_READ, cores);
    if (copy == NULL && cores == 0)
        fetch(home, transaction);
    if (MUTANT(home->fabric, UNBLOCK_EARLY) && cores == 0)
        close_transaction(home, transaction);
}

static void start(struct home *home, struct transaction *transaction, const struct message *request)
{
    transaction->kind = request->type == MESSAGE_WRITE ? TRANSACTION_WRITE : TRANSACTION_READ;
    transaction->requester = request->requester;
    transaction->asked = 0;
    transaction->answered = 0;
    transaction->found = 0;
    transaction->supplied = false;
    transaction->supplied_by = 0;
    transaction->unblocked = false;
    transaction->rebuilt = false;
    transaction->for_entry = false;
    transaction->owner = false;
    home->requests++;
    serve(home, transaction);
}

static void close_transaction(struct home *home, struct transaction *transaction)
{
    struct fabric *fabric = home->fabric;
    struct transaction *stalled;

    if (transaction->kind != TRANSACTION_RECALL) {
        if (transaction->rebuilt) {
            home->rebuilds++;
            count(home, transaction->requester, COUNT_FILTER_TRUE_POSITIVES);
        }
        home->policy->served(home, transaction);
    }
    if (transaction->held.tokens != 0 && transaction->held.tokens != fabric->tokens &&
        transaction->kind != TRANSACTION_RECALL) {
        begin_recall(home, transaction, home->policy->forget(home, transaction->block));
        return;
    }
    if (transaction->held.tokens != 0) {
        write_back(home, transaction->block, &transaction->held, transaction->requester);
        transaction->held = (struct line){0};
    }
    stalled = home->stalled;
    home->stalled = NULL;
    if (transaction->first != NULL) {
        struct message *request = transaction->first;

        transaction->first = request->next;
        start(home, transaction, request);
        queue_free(&fabric->queue, request);
    } else {
        block_map_remove(&home->transactions, transaction->block);
        transaction->next = home->free;
        home->free = transaction;
    }
    while (stalled != NULL) {
        struct transaction *next = stalled->next;

        serve(home, stalled);
        stalled = next;
    }
}

/* After an answer, or an unblock. */
static void advance(struct home *home, struct transaction *transaction)
{
    bool all = (transaction->asked & ~transaction->answered) == 0;

    if (transaction->kind == TRANSACTION_RECALL) {
        if (all)
            close_transaction(home, transaction);
        return;
    }
    if (MUTANT(home->fabric, SNOOPS_NOT_AWAITED) && transaction->rebuilt)
        all = transaction->found == 0;
    if (!transaction->supplied && transaction->asked != 0 && all)
        serve(home, transaction);
    else if (transaction->unblocked && all)
        close_transaction(home, transaction);
}

/* The core gives back what it has. */
static void put(struct home *home, struct message *message)
{
    struct fabric *fabric = home->fabric;
    struct transaction *transaction = home_transaction(home, message->block);
    uint64_t bit = fabric_bit(message->from);
    bool for_writer = transaction != NULL && transaction->kind == TRANSACTION_WRITE &&
                      (transaction->asked != 0 || transaction->supplied) &&
                      !transaction->unblocked && !MUTANT(fabric, PUT_NOT_FORWARDED);

    home_entry_left(home, message->block, message->from, message->owner);
    if (transaction != NULL) {
        transaction->found &= ~bit;
        if (transaction->supplied_by == message->from + 1)
            transaction->supplied_by = 0;
    }
    if (for_writer) {
        struct message *grant =
            fabric_message(fabric, MESSAGE_GRANT, home->agent, transaction->requester,
                           message->block, transaction->requester);

        grant->tokens = message->tokens;
        grant->owner = message->owner;
        grant->dirty = message->dirty;
        grant->data = message->owner;
        grant->version = message->version;
        transaction->supplied = true;
        fabric_send(fabric, grant, home->when);
        return;
    }
    keep(home, message);
    if (message->answer && transaction != NULL) {
        transaction->answered |= bit;
        if (transaction->for_entry)
            count(home, transaction->requester, COUNT_DIRECTORY_INVALIDATIONS);
        advance(home, transaction);
    }
}

/* A core flushed the block: it leaves the bank, unless somebody wants it. */
static void evict_flushed(struct home *home, const struct message *message)
{
    struct line *copy = array_find(&home->llc, message->block);

    if (copy != NULL && home_transaction(home, message->block) == NULL)
        evict(home, copy, message->requester);
}

static void request(struct home *home, struct message *message)
{
    struct transaction *transaction = home_transaction(home, message->block);

    if (transaction == NULL) {
        start(home, home_begin(home, message->block, TRANSACTION_READ, message->requester),
              message);
        queue_free(&home->fabric->queue, message);
        return;
    }
    message->next = NULL;
    if (transaction->first == NULL)
        transaction->first = message;
    else
        transaction->last->next = message;
    transaction->last = message;
}

void transactions_receive(struct fabric *fabric, struct home *home, struct message *message)
{
    struct transaction *transaction = home_transaction(home, message->block);
    uint64_t now = fabric->queue.now;

    if (message->type == MESSAGE_READ || message->type == MESSAGE_WRITE ||
        message->type == MESSAGE_PUT) {
        home->when = home->port_free > now ? home->port_free : now;
        home->port_free = home->when + 1;
        home->when += fabric->machine->llc.latency;
        count(home, message->requester, COUNT_LLC_LOOKUPS);
        count(home, message->requester, COUNT_DIRECTORY_LOOKUPS);
    } else {
        home->when = now + 1;
    }
    if (message->type == MESSAGE_READ || message->type == MESSAGE_WRITE) {
        request(home, message);
        return;
    }
    if (message->type == MESSAGE_PUT) {
        if (message->tokens > 0)
            put(home, message);
        if (message->evict)
            evict_flushed(home, message);
    } else if (transaction == NULL) {
        if (!MUTANT(fabric, UNBLOCK_EARLY))
            check_report(fabric->check, "home %u: no transaction of block %#llx to answer",
                         home->agent, (unsigned long long)message->block);
    } else if (message->type == MESSAGE_ACK) {
        transaction->answered |= fabric_bit(message->from);
        if (message->report)
            transaction->found |= fabric_bit(message->from);
        transaction->supplied |= message->answer;
        if (message->answer)
            transaction->supplied_by = (uint8_t)(message->from + 1);
        advance(home, transaction);
    } else if (message->type == MESSAGE_UNBLOCK) {
        transaction->unblocked = true;
        transaction->supplied = true;
        /* Who was asked to report answers for itself, too. */
        if (!transaction->rebuilt || transaction->kind == TRANSACTION_WRITE)
            transaction->answered |= message->cores & transaction->asked;
        transaction->found |= message->cores;
        transaction->owner = message->report;
        advance(home, transaction);
    } else if (message->type == MESSAGE_FLUSHED) {
        if (--transaction->awaited == 0)
            serve(home, transaction);
    }
    queue_free(&fabric->queue, message);
}
