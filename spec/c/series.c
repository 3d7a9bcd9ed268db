// Keysets and series (section 9), the anchors of section 8, and the counts of section 10.

#include "block.h"

uint64_t anchor_at(const struct block *block, const struct keyset *keyset, uint64_t anchor) {
    unsigned width = width_of(keyset->series_end - keyset->first_series);
    return bits_at(block->members, 8 * keyset->anchors + anchor * width, width);
}

// Compares the keys of two tables. Returns true if the second come later; a list comes after its own beginnings.
static bool keys_increase(const struct table *before, const struct table *table) {
    for (unsigned n = 0; n < before->leaf_count && n < table->leaf_count; n++) {
        if (before->leaves[n].key != table->leaves[n].key) return before->leaves[n].key < table->leaves[n].key;
    }
    return before->leaf_count < table->leaf_count;
}

static void verify_keyset(struct block *block, uint32_t s) {
    const struct keyset *keyset = &block->keysets[s];
    const struct table *table = &block->tables[inner_table_end(block) + s];
    const struct column *column = list_column(table);
    uint64_t series = table->row_count, stated = keyset->series_end - keyset->first_series;
    if (column != NULL) {
        series = 0;
        for (uint64_t row = 0; row < table->row_count; row++) {
            if (row % ANCHOR_ROWS == 0) {
                MUST(block, anchor_at(block, keyset, row / ANCHOR_ROWS) == series, "anchors",
                     "keyset %" PRIu32 " row %" PRIu64 " has %" PRIu64 " series before it", s, row, series);
            }
            uint64_t list = code_at(block, table, row, table->column_count - 1u);
            series += list_at(block, &block->pools[column->number], list).count;
        }
    }
    MUST(block, series == stated, "keyset-series", "keyset %" PRIu32 " has %" PRIu64 " series, not %" PRIu64, s, series,
         stated);
}

void verify_series(struct block *block) {
    uint64_t series = 0, labels = 0;
    for (uint32_t s = 0; s < block->keyset_count; s++) {
        const struct table *table = &block->tables[inner_table_end(block) + s];
        verify_keyset(block, s);
        MUST(block, s == 0 || keys_increase(table - 1, table), "keyset-order", "keyset %" PRIu32 " is out of order", s);
        labels += (block->keysets[s].series_end - series) * table->leaf_count;
        series = block->keysets[s].series_end;
    }
    MUST(block, series == block->meta.series_count && labels == block->meta.label_count, "meta-counts",
         "there are %" PRIu64 " series and %" PRIu64 " labels", series, labels);
}
