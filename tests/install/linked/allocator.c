/*
 * SPDX-License-Identifier: MIT
 *
 * A program with libcia_malloc linked in. It has names of its own that are the library's inside,
 * and calls malloc nowhere: strdup does, in libc.
 */
#include <mplace.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int colours, report_open, setting_text, heap_table;

static char *early;

__attribute__((constructor)) static void begin(void)
{
    early = strdup("before main");
}

int main(void)
{
    enum { BLOCKS = 1000 };
    void *found = dlsym(RTLD_DEFAULT, "mplace_malloc_value"); /* may allocate */
    int64_t before = mplace_malloc_value("blocks.served");
    static char *texts[BLOCKS];
    int status = -1;

    for (int i = 0; i < BLOCKS; i++)
        texts[i] = strdup("of libc");
    pid_t child = fork();
    if (child == 0) {
        free(texts[0]);
        _exit(strdup("in the child") != NULL ? 3 : 1);
    }
    (void)waitpid(child, &status, 0);
    printf("%s served %lld, child %d, early %s, dlsym %s, mine %d\n", mplace_malloc_name(),
           (long long)(mplace_malloc_value("blocks.served") - before), WEXITSTATUS(status),
           early != NULL ? early : "nothing", found != NULL ? "finds it" : "does not",
           colours + report_open + setting_text + heap_table);
    return 0;
}
