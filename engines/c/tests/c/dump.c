/*
 * Prints the labels of all series of a block, as lengths and bytes, after reading them in four ways that must agree.
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
    cx_block *block;
    SUCCEEDS(cx_block_map(argv[1], CX_CHECKS_LAZY, &block, &error));
    uint32_t series_count;
    SUCCEEDS(cx_block_series_count(block, &series_count, &error));
    cx_selection *all;
    SUCCEEDS(cx_block_select(block, NULL, NULL, &all, &error));
    CHECK(cx_selection_count(all) == series_count);
    cx_cursor *cursor;
    SUCCEEDS(cx_selection_cursor(all, CX_ORDER_REFS, NULL, &cursor, &error));
    cx_resolver *resolver;
    SUCCEEDS(cx_resolver_new(block, &resolver, &error));

    static cx_label labels[CX_MAX_LABELS];
    for (uint32_t series = 0; series < series_count; series++) {
        size_t count, needed;
        SUCCEEDS(cx_block_labels(block, series, labels, CX_MAX_LABELS, &count, &error));
        CHECK(count > 0);
        FAILS(CX_TOO_SMALL, "room for", cx_block_labels(block, series, labels, count - 1, &needed, &error));
        CHECK(needed == count);

        const cx_label *others;
        size_t other_count;
        uint32_t ref;
        SUCCEEDS(cx_resolver_labels(resolver, series, &others, &other_count, &error));
        CHECK(are_equal(labels, count, others, other_count));
        SUCCEEDS(cx_cursor_next(cursor, &ref, &others, &other_count, &error));
        CHECK(ref == series && are_equal(labels, count, others, other_count));
        SUCCEEDS(cx_block_find(block, labels, count, &ref, &error));
        CHECK(ref == series);

        printf("%zu\n", count);
        for (size_t i = 0; i < count; i++) {
            printf("%zu %zu ", labels[i].name_len, labels[i].value_len);
            fwrite(labels[i].name, 1, labels[i].name_len, stdout);
            fwrite(labels[i].value, 1, labels[i].value_len, stdout);
            putchar('\n');
        }
    }
    const cx_label *none;
    size_t count;
    uint32_t end;
    for (int twice = 0; twice < 2; twice++) {
        SUCCEEDS(cx_cursor_next(cursor, &end, &none, &count, &error));
        CHECK(end == CX_NO_SERIES && none == NULL && count == 0);
    }
    SUCCEEDS(cx_block_labels(block, series_count, labels, CX_MAX_LABELS, &count, &error));
    CHECK(count == 0);
    SUCCEEDS(cx_resolver_labels(resolver, CX_NO_SERIES, &none, &count, &error));
    CHECK(count == 0 && none == NULL);

    cx_resolver_free(resolver);
    cx_cursor_free(cursor);
    cx_selection_free(all);
    cx_block_free(block);
    return 0;
}
