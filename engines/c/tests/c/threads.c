/*
 * Several threads use one handle of blocks and one selector at once, and fight for one handle of rows.
 * Usage: threads BLOCK
 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 50 };

static cx_blocks *blocks;
static const cx_selector *names;
static cx_rows *contested;
static cx_block_info block;
static uint64_t taken[THREADS], refused[THREADS];

static void *work(void *argument) {
    size_t number = *(const size_t *)argument;
    cx_reader *reader;
    SUCCEEDS(cx_reader_new(blocks, &reader, &error));
    for (int round = 0; round < ROUNDS; round++) {
        cx_series_id id = {block.id, (uint32_t)(number + (size_t)round) % block.series_count}, found;
        const cx_label *labels;
        size_t count, ids;
        SUCCEEDS(cx_reader_labels(reader, id, &labels, &count, &error));
        SUCCEEDS(cx_blocks_find(blocks, labels, count, &found, 1, &ids, &error));
        CHECK(ids == 1 && found.series == id.series);
        cx_selector *same = selector("{__name__=~\"[a-z_]*(bucket|total)?\",pod!~\"x+\"}");
        const cx_selector *own[] = {same};
        cx_query query = {.selectors = own, .selector_count = 1};
        uint64_t selected;
        SUCCEEDS(cx_query_count(blocks, &query, &selected, &error));
        cx_selector_free(same);
        CHECK(selected == block.series_count);
        query.selectors = &names;
        cx_rows *rows;
        SUCCEEDS(cx_query_series(blocks, &query, CX_ORDER_LABELS, &rows, &error));
        cx_series series;
        uint32_t seen = 0;
        for (;; seen++) {
            SUCCEEDS(cx_rows_next(rows, &series, &error));
            if (series.id_count == 0)
                break;
        }
        CHECK(seen == block.series_count);
        cx_rows_free(rows);

        cx_error error;
        cx_status status = cx_rows_next_ids(contested, &series, &error);
        CHECK(status == CX_OK || (status == CX_USAGE && strstr(error.message, "another thread")));
        if (status == CX_USAGE)
            refused[number]++;
        else if (series.id_count > 0)
            taken[number]++;
    }
    cx_reader_free(reader);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    SUCCEEDS(cx_blocks_map(argv[1], NULL, &blocks, &error));
    SUCCEEDS(cx_blocks_info(blocks, 0, &block, &error));
    cx_selector *any_name = selector("{__name__=~\".*\"}");
    names = any_name;
    SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_REFS, &contested, &error));
    /* The stack that the header asks for. */
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 512 * 1024) == 0);
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], &attributes, work, &numbers[i]) == 0);
    }
    uint64_t all = 0, none = 0;
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        all += taken[i];
        none += refused[i];
    }
    pthread_attr_destroy(&attributes);
    /* Each series was given out once. */
    CHECK(all == block.series_count || all + none == THREADS * ROUNDS);
    cx_rows_free(contested);
    cx_selector_free(any_name);
    cx_blocks_free(blocks);
    return 0;
}
