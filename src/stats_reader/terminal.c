/*
 * SPDX-License-Identifier: MIT
 *
 * See terminal.h. The sequences are those that every terminal of today knows (xterm's): another
 * screen, no cursor.
 */
#include "stats_reader/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct termios before;
static sigset_t outside; /* the signals that are blocked while keys are waited for */
static volatile sig_atomic_t is_open, redraw;

bool terminal_write(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, text, length);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
    return true;
}

/* This and the next one are called in signal handlers too. */
static void enter(void)
{
    static const char begin[] = "\033[?1049h\033[?25l";
    struct termios keys = before;

    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    (void)terminal_write(begin, sizeof begin - 1);
}

static void leave(void)
{
    static const char end[] = "\033[?25h\033[?1049l";

    (void)terminal_write(end, sizeof end - 1);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

void terminal_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    leave();
}

/* The handler is gone by now (SA_RESETHAND): the process ends as by the signal alone. */
static void end_by_signal(int signal)
{
    terminal_close();
    (void)raise(signal);
}

static void stop(int signal)
{
    int saved_errno = errno;

    (void)signal;
    if (is_open)
        leave();
    (void)raise(SIGSTOP);
    errno = saved_errno;
}

/* Whoever stopped it may have changed the terminal. */
static void go_on(int signal)
{
    int saved_errno = errno;

    (void)signal;
    if (is_open)
        enter();
    redraw = 1;
    errno = saved_errno;
}

static void resize(int signal)
{
    (void)signal;
    redraw = 1;
}

static void catch_signal(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, was;

    /* What the caller ignores, as nohup does, stays ignored. */
    if (sigaction(signal, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        (void)sigaction(signal, &action, NULL);
}

bool terminal_open(void)
{
    static const int ends[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1,
                               SIGUSR2, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,  SIGSEGV};
    const char *kind = secure_getenv("TERM");
    sigset_t blocked;

    if (kind == NULL || strcmp(kind, "dumb") == 0 || !isatty(STDOUT_FILENO) ||
        tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    (void)atexit(terminal_close);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        catch_signal(ends[i], end_by_signal, SA_RESETHAND | SA_NODEFER);
    catch_signal(SIGTSTP, stop, SA_RESTART);
    catch_signal(SIGCONT, go_on, SA_RESTART);
    catch_signal(SIGWINCH, resize, 0);
    /* They come while keys are waited for, and at no other time: none is missed. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGWINCH);
    sigaddset(&blocked, SIGCONT);
    sigaddset(&blocked, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &blocked, &outside);
    is_open = 1;
    enter();
    return true;
}

void terminal_size(int *rows, int *columns)
{
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *rows = size.ws_row > 0 ? size.ws_row : 24;
    *columns = size.ws_col > 0 ? size.ws_col : 80;
}

/* Behind an escape, the rest of an arrow or the like: "[" or "O", parameters, a final character.
 * False: nothing came behind it. */
static bool skip_sequence(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char at = '\0';

    for (int i = 0; poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &at, 1) == 1; i++) {
        if (i > 0 ? at >= '@' : at != '[' && at != 'O')
            break;
    }
    return at != '\0';
}

int terminal_key(double seconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec left = {.tv_sec = (time_t)seconds};
    int ready;

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    ready = redraw ? -1 : ppoll(&input, 1, &left, &outside);
    if (redraw) {
        redraw = 0;
        return TERMINAL_REDRAW;
    }
    if (ready <= 0)
        return ready == 0 ? TERMINAL_NOTHING : TERMINAL_REDRAW;
    char key;
    if ((input.revents & POLLIN) == 0 || read(STDIN_FILENO, &key, 1) <= 0)
        return TERMINAL_GONE;
    return key == '\033' && skip_sequence() ? TERMINAL_OTHER : (unsigned char)key;
}
