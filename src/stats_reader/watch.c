/*
 * SPDX-License-Identifier: MIT
 *
 * See watch.h.
 */
#include "stats_reader/watch.h"

#include "stats_reader/page.h"
#include "stats_reader/refuse.h"
#include "stats_reader/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WITHOUT_TERMINAL_ROWS = 10, /* of each table */
    WITHOUT_TERMINAL_COLUMNS = 160,
};

static struct look looks[2];
static unsigned taken; /* looks so far */
static struct page page;

static const struct look *newest(void)
{
    return &looks[(taken - 1) % 2];
}

static const struct look *one_before(void)
{
    return taken > 1 ? &looks[taken % 2] : NULL;
}

/* False: the process has ended, or become a program that publishes nothing. */
static bool take_look(struct target *target)
{
    if ((taken > 0 && target_open(target, target->process) != TARGET_READABLE) ||
        !look_or_refuse(target, LOCK_RANKING_MOST, &looks[taken % 2]))
        return false;
    taken++;
    return true;
}

void watch_say_end(const struct target *target)
{
    terminal_close();
    (void)fprintf(stderr, "mplace stats: process %d has %s\n", (int)target->process,
                  target_lives(target) ? "become another program" : "ended");
}

/* ---- without a terminal ---- */

bool watch_nobody_reads(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};

    return poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLNVAL)) != 0;
}

void watch_pause(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void write_blocks(struct target *target, struct page_view *view)
{
    if (view->most == 0)
        view->most = WITHOUT_TERMINAL_ROWS;
    while (take_look(target)) {
        page_begin(&page, false, 0, WITHOUT_TERMINAL_COLUMNS);
        page_fill(&page, view, newest(), one_before());
        page_end(&page);
        if (!terminal_write(page.text, page.length))
            refuse("cannot write: %s", strerror(errno));
        watch_pause(view->seconds);
        if (watch_nobody_reads())
            return;
    }
    watch_say_end(target);
}

/* ---- a number that is typed ---- */

/* What n and s ask for: text is shown with the digits so far. */
struct prompt {
    char key; /* 0: nothing is asked */
    const char *text;
    char digits[8];
    size_t length;
    char line[80];
};

static void prompt_begin(struct prompt *prompt, char key, const char *text)
{
    *prompt = (struct prompt){.key = key, .text = text};
}

static void prompt_done(struct prompt *prompt, struct page_view *view)
{
    double number = strtod(prompt->digits, NULL);

    if (prompt->key == 'n' && prompt->length > 0)
        view->most = (int)number;
    else if (prompt->key == 's' && number > 0)
        view->seconds = number;
    prompt->key = 0;
}

static void prompt_key(struct prompt *prompt, struct page_view *view, int key)
{
    bool is_digit = (key >= '0' && key <= '9') || (key == '.' && prompt->key == 's');

    if (key == '\n' || key == '\r')
        prompt_done(prompt, view);
    else if (key == '\033')
        prompt->key = 0;
    else if ((key == '\b' || key == 0x7f) && prompt->length > 0)
        prompt->digits[--prompt->length] = '\0';
    else if (is_digit && prompt->length < sizeof prompt->digits - 1)
        prompt->digits[prompt->length++] = (char)key;
}

static const char *prompt_line(struct prompt *prompt)
{
    if (prompt->key == 0)
        return NULL;
    (void)snprintf(prompt->line, sizeof prompt->line, "%s%s_", prompt->text, prompt->digits);
    return prompt->line;
}

/* ---- on a terminal ---- */

static void show_help(void)
{
    static const char *const lines[] = {
        "mplace stats --watch: keys",
        "",
        "  space  look now",
        "  < >    sort by the column to the left, or to the right; * marks it",
        "  n #    how many classes, and locks, are shown; 0: as many as fit",
        "  s d    seconds between looks",
        "  h ?    this page",
        "  q      quit",
        "",
        "A rate is what happened a second between two looks, CHANGE what is more",
        "than at the look before. WAIT/S is the time that all threads together",
        "waited for the lock in a second: 1.00 s is one thread that always waits.",
        "The locks are among the 100 that cost most so far.",
        "",
        "Any key goes back.",
    };
    int rows, columns;

    terminal_size(&rows, &columns);
    page_begin(&page, true, rows, columns);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        page_line(&page, "%s", lines[i]);
    page_end(&page);
    (void)terminal_write(page.text, page.length);
}

static void draw(struct page_view *view, struct prompt *prompt)
{
    int rows, columns;

    terminal_size(&rows, &columns);
    view->message = prompt_line(prompt);
    page_begin(&page, true, rows, columns);
    page_fill(&page, view, newest(), one_before());
    page_end(&page);
    (void)terminal_write(page.text, page.length);
}

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct screen {
    struct target *target;
    struct page_view view;
    struct prompt prompt;
    bool in_help;
    double next; /* when the next look is due */
};

/* What a key does; false: quit. */
static bool obey(struct screen *screen, int key)
{
    struct page_view *view = &screen->view;

    if (screen->in_help && key != TERMINAL_REDRAW) {
        screen->in_help = false;
        return true;
    }
    if (screen->prompt.key != 0) {
        prompt_key(&screen->prompt, view, key);
        return true;
    }
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case ' ':
    case '\n':
    case '\r':
        screen->next = 0;
        break;
    case 'h':
    case 'H':
    case '?':
        screen->in_help = true;
        break;
    case '<':
        view->order = (view->order + PAGE_ORDERS - 1) % PAGE_ORDERS;
        break;
    case '>':
        view->order = (view->order + 1) % PAGE_ORDERS;
        break;
    case 'n':
    case '#':
        prompt_begin(&screen->prompt, 'n', "classes and locks to show (0: as many as fit): ");
        break;
    case 's':
    case 'd':
        prompt_begin(&screen->prompt, 's', "seconds between looks: ");
        break;
    default:
        break;
    }
    return true;
}

static void run_screen(struct screen *screen)
{
    for (;;) {
        double now = seconds_now();

        if (now >= screen->next) {
            if (!take_look(screen->target)) {
                watch_say_end(screen->target);
                return;
            }
            screen->next = now + screen->view.seconds;
        }
        if (screen->in_help)
            show_help();
        else
            draw(&screen->view, &screen->prompt);
        double left = screen->next - seconds_now();
        int key = terminal_key(left > 0 ? left : 0);

        if (key == TERMINAL_GONE || (key != TERMINAL_NOTHING && !obey(screen, key)))
            return;
    }
}

void watch(struct target *target, const struct watch_options *options)
{
    struct screen screen = {
        .target = target,
        .view = {.target = target,
                 .seconds = options->seconds,
                 .most = options->most >= 0 ? options->most : 0,
                 .most_locks = options->most_locks,
                 .order = 1},
    };

    if (!terminal_open()) {
        write_blocks(target, &screen.view);
        return;
    }
    run_screen(&screen);
    terminal_close();
}
