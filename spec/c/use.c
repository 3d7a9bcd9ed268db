// Rules on what is used (sections 6 to 8), and lengths of what is used (section 10).

#include "block.h"

struct marks {
    uint8_t *symbols;
    uint8_t **rows;  // of each table
    uint8_t **lists; // of each pool
};

static void mark_row(const struct block *block, const struct table *table, uint64_t row, bool is_first,
                     struct marks *marks) {
    for (unsigned c = 0; c < table->column_count; c++) {
        const struct column *column = &table->columns[c];
        if (!is_first && column->width == 0) continue; // one code for all rows
        uint64_t code = code_at(block, table, row, c);
        uint8_t *marked = column->domain == DOMAIN_SYMBOLS ? marks->symbols
                          : column->domain == DOMAIN_TABLE ? marks->rows[column->number]
                                                           : marks->lists[column->number];
        marked[code] = 1;
    }
}

// From keysets down: a row is used if a series has it. The first report is exact: what is not used below it may be used
// by unused rows only.
void verify_use(struct block *block) {
    uint32_t keyset_tables = inner_table_end(block);
    struct marks marks;
    marks.symbols = allocate(block, block->symbol_count, 1);
    marks.rows = allocate(block, block->table_count, sizeof *marks.rows);
    marks.lists = allocate(block, block->pool_count, sizeof *marks.lists);
    for (uint32_t t = 0; t < keyset_tables; t++) marks.rows[t] = allocate(block, block->tables[t].row_count, 1);
    for (uint32_t p = 0; p < block->pool_count; p++) marks.lists[p] = allocate(block, block->pools[p].list_count, 1);

    for (uint32_t t = keyset_tables; t < block->table_count; t++) {
        const struct table *table = &block->tables[t];
        for (uint64_t row = 0; row < table->row_count; row++) mark_row(block, table, row, row == 0, &marks);
    }
    for (uint32_t p = 0; p < block->pool_count; p++) {
        const struct pool *pool = &block->pools[p];
        for (uint64_t number = 0; number < pool->list_count; number++) {
            MUST(block, marks.lists[p][number], "list-used", "list %" PRIu64 " of pool %" PRIu32, number, p);
            if (!marks.lists[p][number]) continue;
            struct list list = list_at(block, pool, number);
            for (uint64_t n = 0; n < list.count; n++) marks.rows[pool->table][next_member(block, &list)] = 1;
        }
    }
    for (uint32_t t = keyset_tables; t-- > 0;) {
        const struct table *table = &block->tables[t];
        bool is_first = true;
        for (uint64_t row = 0; row < table->row_count; row++) {
            MUST(block, marks.rows[t][row], t < block->key_count ? "values-used" : "rows-used",
                 "table %" PRIu32 " row %" PRIu64, t, row);
            if (marks.rows[t][row]) mark_row(block, table, row, is_first, &marks);
            is_first = is_first && !marks.rows[t][row];
            if (t >= block->key_count) continue;
            uint64_t length = symbol(block, code_at(block, table, row, 0)).length;
            MUST(block, length <= block->meta.max_value_len, "policy-kept",
                 "a value of key %" PRIu32 " has %" PRIu64 " bytes", t, length);
        }
    }
    for (uint32_t key = 0; key < block->key_count; key++) {
        uint64_t length = symbol(block, key_name(block, key)).length;
        MUST(block, length <= block->meta.max_name_len, "policy-kept",
             "the name of key %" PRIu32 " has %" PRIu64 " bytes", key, length);
        marks.symbols[key_name(block, key)] = 1;
    }
    for (uint64_t id = 0; id < block->symbol_count; id++) {
        MUST(block, marks.symbols[id], "symbols-used", "symbol %" PRIu64, id);
    }
}
