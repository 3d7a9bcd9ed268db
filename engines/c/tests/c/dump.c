/*
 * Prints the labels of all series of a block, as lengths and bytes, after reading them in three ways that must agree.
 * Usage: dump BLOCK
 */
#include "check.h"

static int are_equal(const cx_label *left, size_t left_count, const cx_label *right, size_t right_count) {
    if (left_count != right_count)
        return 0;
    for (size_t i = 0; i < left_count; i++) {
        /* All point to the same symbols of one block. */
        if (left[i].name != right[i].name || left[i].name_len != right[i].name_len ||
            left[i].value != right[i].value || left[i].value_len != right[i].value_len)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(argv[1], NULL, &blocks, &error));
    cx_block_info block;
    SUCCEEDS(cx_blocks_info(blocks, 0, &block, &error));
    cx_rows *rows, *only_ids;
    SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_REFS, &rows, &error));
    SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_REFS, &only_ids, &error));
    cx_reader *reader;
    SUCCEEDS(cx_reader_new(blocks, &reader, &error));

    const cx_label *labels;
    size_t count, found;
    cx_series series;
    for (uint32_t ref = 0; ref < block.series_count; ref++) {
        cx_series_id id = {block.id, ref}, same;
        SUCCEEDS(cx_reader_labels(reader, id, &labels, &count, &error));
        CHECK(count > 0);
        SUCCEEDS(cx_rows_next(rows, &series, &error));
        CHECK(series.id_count == 1 && memcmp(series.ids, &id, sizeof id) == 0);
        CHECK(are_equal(labels, count, series.labels, series.label_count));
        SUCCEEDS(cx_rows_next_ids(only_ids, &series, &error));
        CHECK(series.id_count == 1 && memcmp(series.ids, &id, sizeof id) == 0 && series.labels == NULL);
        SUCCEEDS(cx_blocks_find(blocks, labels, count, &same, 1, &found, &error));
        CHECK(found == 1 && memcmp(&same, &id, sizeof id) == 0);

        printf("%zu\n", count);
        for (size_t i = 0; i < count; i++) {
            printf("%zu %zu ", labels[i].name_len, labels[i].value_len);
            fwrite(labels[i].name, 1, labels[i].name_len, stdout);
            fwrite(labels[i].value, 1, labels[i].value_len, stdout);
            putchar('\n');
        }
    }
    for (int twice = 0; twice < 2; twice++) {
        SUCCEEDS(cx_rows_next(rows, &series, &error));
        CHECK(series.id_count == 0 && series.ids == NULL && series.labels == NULL && series.label_count == 0);
        SUCCEEDS(cx_rows_next_ids(only_ids, &series, &error));
        CHECK(series.id_count == 0);
    }
    cx_series_id none = {block.id, block.series_count};
    SUCCEEDS(cx_reader_labels(reader, none, &labels, &count, &error));
    CHECK(count == 0 && labels == NULL);
    none = (cx_series_id){{{0}}, 0};
    SUCCEEDS(cx_reader_labels(reader, none, &labels, &count, &error));
    CHECK(count == 0 && labels == NULL);

    cx_reader_free(reader);
    cx_rows_free(rows);
    cx_rows_free(only_ids);
    cx_blocks_free(blocks);
    return 0;
}
