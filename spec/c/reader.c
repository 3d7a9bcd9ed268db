// A reader of Chronoxide blocks in C11, written from the text of the specification alone. It shows that the text is
// enough, and that blocks are read on a big-endian machine.
//
//     reader verify FILE...    checks all rules of FORMAT.md, METRICS.md and COLUMNS.md
//     reader dump FILE         prints all that is in a block (FORMAT.md, section 13)
//
// The level of conformance is core: archives are unsupported. `verify` prints a line for each file that breaks a rule.
// Exit codes are those of CONFORMANCE.md. If files have different ones, the greatest is returned. Others are 1 for a
// file that cannot be read and 2 for wrong usage.
//
// The reader needs a C11 compiler and libc. It reads numbers byte by byte, so neither byte order nor alignment matter.
// It reads the whole file into memory. The length of the file bounds memory and time, except for `dump`, whose
// output can be much longer than the file.
//
// To build and test it natively, in the folder of this file:
//
//     ./build.sh /tmp/reader
//     python3 ../conformance.py --level core /tmp/reader
//
// For s390x, which is big-endian, on Debian with the packages `gcc-s390x-linux-gnu` and `qemu-user`:
//
//     ./build.sh /tmp/reader-s390x s390x
//     python3 ../conformance.py --level core qemu-s390x /tmp/reader-s390x
//
// Each file reads one section of the text; `block.h` lists them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

// Reads a file. Returns false if it cannot be read.
static bool read_file(const char *path, uint8_t **content, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t capacity = 65536;
    *length = 0;
    *content = malloc(capacity);
    while (*content != NULL) {
        *length += fread(*content + *length, 1, capacity - *length, file);
        if (*length < capacity) break;
        uint8_t *larger = capacity > SIZE_MAX / 2 ? NULL : realloc(*content, 2 * capacity);
        if (larger == NULL) free(*content);
        *content = larger;
        capacity *= 2;
    }
    bool is_read = *content != NULL && !ferror(file);
    if (!is_read) free(*content);
    fclose(file);
    return is_read;
}

// Later sections rely on what is verified in earlier ones.
static void verify_block(struct block *block) {
    if (setjmp(block->refused) != 0) return;
    verify_front(block);
    verify_meta(block);
    verify_symbols(block);
    verify_catalogue(block);
    verify_rows(block);
    verify_lists(block);
    verify_series(block);
    verify_use(block);
    verify_identity(block);
    verify_metrics(block);
    verify_columns(block);
}

// Verifies a file, and dumps it if asked to. Returns the exit code.
static int read_block(const char *path, bool is_dump) {
    struct block block = {0};
    uint8_t *content;
    size_t length;
    if (!read_file(path, &content, &length)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    block.file = (struct bytes){content, length};
    verify_block(&block);
    // A block that breaks a rule of class C can be read.
    bool is_readable = block.rule == NULL || is_canonical_rule(block.rule);
    int exit_code = 0;
    if (is_dump && is_readable) {
        dump_block(&block);
    } else if (block.rule != NULL) {
        fprintf(stderr, "%s: %s: %s\n", path, block.rule, block.reason);
        exit_code = exit_code_of_rule(block.rule);
    } else if (block.header.ro_compat != 0) {
        fprintf(stderr, "%s: note: unknown bits in ro_compat: only rules of class R were checked\n", path);
    }
    free_allocations(&block);
    free(content);
    return exit_code;
}

int main(int count, char **arguments) {
    bool is_dump = count == 3 && strcmp(arguments[1], "dump") == 0;
    bool is_verify = count >= 3 && strcmp(arguments[1], "verify") == 0;
    if (!is_dump && !is_verify) {
        fprintf(stderr, "usage: reader verify FILE...\n       reader dump FILE\n");
        return 2;
    }
    int greatest = 0;
    for (int n = 2; n < count; n++) {
        int exit_code = read_block(arguments[n], is_dump);
        if (exit_code > greatest) greatest = exit_code;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "the output cannot be written\n");
        return 1;
    }
    return greatest;
}
