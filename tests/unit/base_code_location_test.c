/*
 * SPDX-License-Identifier: MIT
 *
 * Addresses of code that has a name, of code that lost it, and of none.
 */
#include "base/code/code_location.h"

#include "run_suite.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct code_location location;

static __attribute__((noinline)) const void *where_am_i(void)
{
    return __builtin_return_address(0);
}

static __attribute__((noinline)) const void *a_static_function(void)
{
    const void *here = where_am_i();

    __asm__ volatile("" : : : "memory"); /* no tail call */
    return here;
}

static void own_path(char *path)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    ck_assert_int_gt(length, 0);
    path[length] = '\0';
}

START_TEST(a_call_in_a_static_function_is_in_that_function_and_this_file)
{
    char path[PATH_MAX];

    own_path(path);
    code_location_of_call(a_static_function(), &location);
    ck_assert_int_eq(location.kind, CODE_IN_FUNCTION);
    ck_assert_str_eq(location.function, "a_static_function");
    ck_assert_uint_lt(location.function_offset, 64);
    ck_assert_str_eq(location.file, path);
}
END_TEST

/* The first byte of a function is where a call that ends the function before it would return to. */
START_TEST(the_call_before_a_functions_first_byte_is_not_in_that_function)
{
    code_location_of_call((const char *)(const void *)&a_static_function, &location);
    ck_assert_str_ne(location.function, "a_static_function");
    code_location_of_call((const char *)(const void *)&a_static_function + 1, &location);
    ck_assert_str_eq(location.function, "a_static_function");
    ck_assert_uint_eq(location.function_offset, 0);
}
END_TEST

START_TEST(a_function_of_a_stripped_library_is_known_by_what_it_exports)
{
    const char *function = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");

    ck_assert_ptr_nonnull(function);
    code_location_of_call(function + 1, &location);
    ck_assert_int_eq(location.kind, CODE_IN_FUNCTION);
    ck_assert_str_eq(location.function, "gnu_get_libc_version");
    ck_assert_uint_eq(location.function_offset, 0);
    ck_assert_ptr_nonnull(strstr(location.file, "libc"));
}
END_TEST

START_TEST(generated_code_has_no_file)
{
    char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(code, MAP_FAILED);
    code_location_of_call(code + 100, &location);
    ck_assert_int_eq(location.kind, CODE_WITHOUT_FILE);
    ck_assert_str_eq(location.file, "");
    ck_assert_int_eq(munmap(code, 4096), 0);
    code_location_of_call(code + 100, &location);
    ck_assert_int_eq(location.kind, CODE_UNMAPPED);
}
END_TEST

START_TEST(an_address_without_code_is_not_taken_for_code)
{
    static char data[16];
    static const void *const addresses[] = {NULL, (const void *)1, (const void *)-1l, data + 8};

    for (unsigned i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        errno = 4711;
        code_location_of_call(addresses[i], &location);
        ck_assert_int_eq(location.kind, CODE_UNMAPPED);
        ck_assert_str_eq(location.file, "");
        ck_assert_str_eq(location.function, "");
        ck_assert_int_eq(errno, 4711);
    }
}
END_TEST

/* What the file says now is about other code: no name is better than a wrong one. */
START_TEST(a_file_that_was_replaced_or_is_no_library_gives_no_name)
{
    static const char *const contents[] = {"", "short", "\177ELF\2\1\1 and nothing that fits"};
    char path[] = "/tmp/code_location_XXXXXX";
    char other[] = "/tmp/code_location_XXXXXX";
    int file = mkstemp(path);

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, 8192), 0);
    for (unsigned i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        ck_assert_int_eq(pwrite(file, contents[i], strlen(contents[i]), 0),
                         (ssize_t)strlen(contents[i]));
        char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
        ck_assert_ptr_ne(code, MAP_FAILED);
        code_location_of_call(code + 0x10, &location);
        ck_assert_int_eq(location.kind, CODE_IN_FILE);
        ck_assert_uint_eq(location.offset, 4096 + 0xf);
        ck_assert_str_eq(location.file, path);
        ck_assert_int_eq(munmap(code, 4096), 0);
    }

    /* This program takes the name over, which has a function at that offset. (In what the linker
     * makes of it, offsets in the file and addresses are the same.) */
    const void *call = a_static_function();
    code_location_of_call(call, &location);
    uint64_t offset = location.offset;
    ck_assert_int_eq(ftruncate(file, (off_t)(offset + 8192)), 0);
    char *code =
        mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)(offset & ~4095ul));
    ck_assert_ptr_ne(code, MAP_FAILED);
    char self[PATH_MAX];
    own_path(self);
    close(mkstemp(other));
    ck_assert_int_eq(unlink(other), 0);
    ck_assert_int_eq(symlink(self, other), 0);
    /* The kernel's name for a file that has none any more. */
    char named_by_kernel[sizeof path + 16];
    (void)snprintf(named_by_kernel, sizeof named_by_kernel, "%s (deleted)", path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rename(other, named_by_kernel), 0);
    code_location_of_call(code + (offset & 4095) + 1, &location);
    ck_assert_int_eq(location.kind, CODE_IN_FILE);
    ck_assert_uint_eq(location.offset, offset);
    ck_assert_str_eq(location.function, "");
    ck_assert_str_eq(location.file, named_by_kernel);
    ck_assert_int_eq(unlink(named_by_kernel), 0);
    close(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code location");
    TCase *tests = tcase_create("code location");

    tcase_add_test(tests, a_call_in_a_static_function_is_in_that_function_and_this_file);
    tcase_add_test(tests, the_call_before_a_functions_first_byte_is_not_in_that_function);
    tcase_add_test(tests, a_function_of_a_stripped_library_is_known_by_what_it_exports);
    tcase_add_test(tests, generated_code_has_no_file);
    tcase_add_test(tests, an_address_without_code_is_not_taken_for_code);
    tcase_add_test(tests, a_file_that_was_replaced_or_is_no_library_gives_no_name);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
