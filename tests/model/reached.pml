/*
 * SPDX-License-Identifier: MIT
 *
 * Claims that the search got somewhere, so that an exhaustive search of too little cannot pass for
 * one of everything: the first time, the verifier prints the line, and the test wants to see it.
 */
c_decl {
    static void search_reached(const char *what)
    {
        static const char *seen[64];
        int n = 0;

        for (; seen[n] != 0; n++)
            if (strcmp(seen[n], what) == 0)
                return;
        seen[n] = what;
        printf("reached: %s\n", what);
    }
}
#define REACHED(what) c_code { search_reached(what); }
