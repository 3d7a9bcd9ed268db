/*
 * Several threads use one block, one selector and one selection at once, and fight for one cursor.
 * Usage: threads BLOCK
 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 50 };

static cx_block *block;
static cx_selector *names;
static cx_selection *shared;
static cx_cursor *contested;
static uint32_t series_count;
static uint64_t taken[THREADS], refused[THREADS];

static void *work(void *argument) {
    size_t number = *(const size_t *)argument;
    cx_label labels[64];
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t ref = (uint32_t)(number + (size_t)round) % series_count, found;
        size_t count;
        SUCCEEDS(cx_block_labels(block, ref, labels, 64, &count, &error));
        SUCCEEDS(cx_block_find(block, labels, count, &found, &error));
        CHECK(found == ref);
        cx_selection *own;
        cx_selector *same = selector("{__name__=~\"[a-z_]*(bucket|total)?\",pod!~\"x+\"}");
        SUCCEEDS(cx_block_select(block, same, NULL, &own, &error));
        cx_selector_free(same);
        CHECK(cx_selection_count(own) == series_count);
        cx_selection_free(own);
        SUCCEEDS(cx_block_select(block, names, NULL, &own, &error));
        CHECK(cx_selection_count(own) == series_count && cx_selection_contains(shared, ref));
        cx_cursor *cursor;
        SUCCEEDS(cx_selection_cursor(shared, CX_ORDER_LABELS, NULL, &cursor, &error));
        uint32_t seen = 0;
        for (;; seen++) {
            const cx_label *walked;
            SUCCEEDS(cx_cursor_next(cursor, &found, &walked, &count, &error));
            if (found == CX_NO_SERIES)
                break;
        }
        CHECK(seen == series_count);
        cx_cursor_free(cursor);
        cx_selection_free(own);

        cx_error error;
        cx_status status = cx_cursor_next(contested, &found, NULL, NULL, &error);
        CHECK(status == CX_OK || (status == CX_USAGE && strstr(error.message, "another thread")));
        if (status == CX_USAGE)
            refused[number]++;
        else if (found != CX_NO_SERIES)
            taken[number]++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    SUCCEEDS(cx_block_map(argv[1], CX_CHECKS_LAZY, &block, &error));
    SUCCEEDS(cx_block_series_count(block, &series_count, &error));
    names = selector("{__name__=~\".*\"}");
    SUCCEEDS(cx_block_select(block, NULL, NULL, &shared, &error));
    SUCCEEDS(cx_selection_cursor(shared, CX_ORDER_REFS, NULL, &contested, &error));
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
    CHECK(all == series_count || all + none == THREADS * ROUNDS);
    cx_cursor_free(contested);
    cx_selection_free(shared);
    cx_selector_free(names);
    cx_block_free(block);
    return 0;
}
