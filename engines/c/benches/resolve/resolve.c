/*
 * Times how long it takes to resolve a series; compare.rs does the same in Rust.
 * Usage: resolve BLOCK READS. Prints a line for each way: name, nanoseconds per series, and a sum of all labels.
 */
#define _POSIX_C_SOURCE 199309L
#include <chronoxide.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static cx_error error;

static void check(cx_status status) {
    if (status != CX_OK) {
        fprintf(stderr, "resolve: %s\n", error.message);
        exit(status);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t sum(const cx_label *labels, size_t count) {
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += labels[i].name_len + labels[i].value_len + (unsigned char)labels[i].value[0];
    return all;
}

/* Xorshift: the refs of the reads at random. */
static uint32_t next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void print(const char *name, double start, uint32_t reads, uint64_t all) {
    printf("%s\t%.1f\t%" PRIu64 "\n", name, (now() - start) / reads, all);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: resolve BLOCK READS\n");
        return CX_USAGE;
    }
    static cx_label buffer[CX_MAX_LABELS];
    const cx_label *labels;
    size_t count;
    uint32_t series_count, reads = (uint32_t)strtoul(argv[2], NULL, 10), state, series;
    cx_block *block;
    check(cx_block_map(argv[1], CX_CHECKS_EAGER, &block, &error));
    check(cx_block_series_count(block, &series_count, &error));
    cx_resolver *resolver;
    check(cx_resolver_new(block, &resolver, &error));
    cx_selection *selection;
    check(cx_block_select(block, NULL, NULL, &selection, &error));

    uint64_t all = 0;
    double start = now();
    for (uint32_t read = 0; read < reads; read++) {
        check(cx_block_labels(block, read % series_count, buffer, CX_MAX_LABELS, &count, &error));
        all += sum(buffer, count);
    }
    print("series, in order", start, reads, all);

    state = 1, all = 0, start = now();
    for (uint32_t read = 0; read < reads; read++) {
        check(cx_block_labels(block, next(&state) % series_count, buffer, CX_MAX_LABELS, &count, &error));
        all += sum(buffer, count);
    }
    print("series, at random", start, reads, all);

    all = 0, start = now();
    for (uint32_t read = 0; read < reads; read++) {
        check(cx_resolver_labels(resolver, read % series_count, &labels, &count, &error));
        all += sum(labels, count);
    }
    print("resolver, in order", start, reads, all);

    state = 1, all = 0, start = now();
    for (uint32_t read = 0; read < reads; read++) {
        check(cx_resolver_labels(resolver, next(&state) % series_count, &labels, &count, &error));
        all += sum(labels, count);
    }
    print("resolver, at random", start, reads, all);

    all = 0, start = now();
    uint32_t walked = 0;
    for (uint32_t round = 0; round < reads / series_count + 1; round++) {
        cx_cursor *cursor;
        check(cx_selection_cursor(selection, CX_ORDER_REFS, NULL, &cursor, &error));
        for (;; walked++) {
            check(cx_cursor_next(cursor, &series, &labels, &count, &error));
            if (series == CX_NO_SERIES)
                break;
            all += sum(labels, count);
        }
        cx_cursor_free(cursor);
    }
    print("cursor, in order", start, walked, all);

    cx_selection_free(selection);
    cx_resolver_free(resolver);
    cx_block_free(block);
    return 0;
}
