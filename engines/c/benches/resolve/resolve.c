/*
 * Times how long it takes to read the labels of a series; compare.rs does the same in Rust.
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
    const cx_label *labels;
    size_t count;
    uint32_t reads = (uint32_t)strtoul(argv[2], NULL, 10), state = 1;
    cx_blocks *blocks;
    const cx_open_options eager = {.checks = CX_CHECKS_EAGER};
    check(cx_blocks_map(argv[1], &eager, &blocks, &error));
    cx_block_info block;
    check(cx_blocks_info(blocks, 0, &block, &error));
    cx_reader *reader;
    check(cx_reader_new(blocks, &reader, &error));
    cx_series_id id = {block.id, 0};

    uint64_t all = 0;
    double start = now();
    for (uint32_t read = 0; read < reads; read++) {
        id.series = read % block.series_count;
        check(cx_reader_labels(reader, id, &labels, &count, &error));
        all += sum(labels, count);
    }
    print("reader, in order", start, reads, all);

    all = 0, start = now();
    for (uint32_t read = 0; read < reads; read++) {
        id.series = next(&state) % block.series_count;
        check(cx_reader_labels(reader, id, &labels, &count, &error));
        all += sum(labels, count);
    }
    print("reader, at random", start, reads, all);

    all = 0, start = now();
    uint32_t walked = 0;
    for (uint32_t round = 0; round < reads / block.series_count + 1; round++) {
        cx_rows *rows;
        cx_series series;
        check(cx_query_series(blocks, NULL, CX_ORDER_REFS, &rows, &error));
        for (;; walked++) {
            check(cx_rows_next(rows, &series, &error));
            if (series.id_count == 0)
                break;
            all += sum(series.labels, series.label_count);
        }
        cx_rows_free(rows);
    }
    print("rows, in order", start, walked, all);

    cx_reader_free(reader);
    cx_blocks_free(blocks);
    return 0;
}
