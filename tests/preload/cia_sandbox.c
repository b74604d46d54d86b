/*
 * SPDX-License-Identifier: MIT
 *
 * A program that closes itself in once it has begun: from then on the kernel ends it when it opens
 * a file. It takes 64 MiB of short blocks there, for which huge pages are asked. 77: no such
 * filter.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    enum { BYTES = 64 << 20, BLOCK = 1024 };
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

    free(malloc(1));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 77;
    for (int i = 0; i < BYTES / BLOCK; i++) {
        char *block = malloc(BLOCK);

        if (block == NULL)
            _exit(1);
        memset(block, 1, BLOCK);
    }
    _exit(0);
}
