// Rows of tables (section 7).

#include "block.h"

uint64_t code_at(const struct block *block, const struct table *table, uint64_t row, unsigned column) {
    uint64_t bit = 8 * table->rows_offset + row * table->row_bits + table->columns[column].first_bit;
    return table->columns[column].base + bits_at(block->rows, bit, table->columns[column].width);
}

// Returns the width of a field in a row form, given the width that its codes need.
unsigned row_form_width(unsigned row_form, unsigned width) {
    if (row_form == BIT_PACKED) return width;
    return width == 0 ? 0 : width <= 8 ? 8 : width <= 16 ? 16 : 32;
}

static uint64_t code_count(const struct block *block, const struct column *column) {
    switch (column->domain) {
    case DOMAIN_SYMBOLS: return block->symbol_count;
    case DOMAIN_TABLE: return block->tables[column->number].row_count;
    default: return block->pools[column->number].list_count;
    }
}

static void verify_column(struct block *block, uint32_t t, unsigned c, uint64_t least, uint64_t greatest) {
    const struct column *column = &block->tables[t].columns[c];
    MUST(block, column->base == least, "column-width", "the base of table %" PRIu32 " column %u should be %" PRIu64, t,
         c, least);
    if (block->meta.row_form > BIT_PACKED) return;
    unsigned width = row_form_width(block->meta.row_form, width_of(greatest - least));
    MUST(block, column->width == width, "column-width", "table %" PRIu32 " column %u should have %u bits", t, c, width);
}

static void verify_table(struct block *block, uint32_t t) {
    const struct table *table = &block->tables[t];
    uint64_t least[MAX_COLUMNS], greatest[MAX_COLUMNS], before[MAX_COLUMNS];
    unsigned ordered_count = table->column_count - (list_column(table) != NULL);
    for (uint64_t row = 0; row < table->row_count; row++) {
        bool is_greater = row == 0;
        for (unsigned c = 0; c < table->column_count; c++) {
            const struct column *column = &table->columns[c];
            if (row > 0 && column->width == 0) continue; // the code of row 0
            uint64_t code = code_at(block, table, row, c);
            MUST(block, code < code_count(block, column), "column-code",
                 "code %" PRIu64 " in table %" PRIu32 " row %" PRIu64, code, t, row);
            if (!is_greater && c < ordered_count) {
                MUST(block, code >= before[c], "rows-order", "table %" PRIu32 " row %" PRIu64, t, row);
                is_greater = code > before[c];
            }
            before[c] = code;
            if (row == 0 || code < least[c]) least[c] = code;
            if (row == 0 || code > greatest[c]) greatest[c] = code;
        }
        MUST(block, is_greater, "rows-order", "table %" PRIu32 " row %" PRIu64 " is not distinct", t, row);
    }
    for (unsigned c = 0; c < table->column_count; c++) verify_column(block, t, c, least[c], greatest[c]);
}

void verify_rows(struct block *block) {
    uint64_t position = 0, length = block->rows.length;
    for (uint32_t t = 0; t < block->table_count; t++) {
        const struct table *table = &block->tables[t];
        uint64_t row_bits = (uint64_t)table->row_count * table->row_bits, end = position + whole_bytes(row_bits);
        MUST(block, table->rows_offset == position, "rows-offset", "rows of table %" PRIu32 " should be at %" PRIu64, t,
             position);
        MUST(block, end + CLOSING_LEN <= length, "table-extent", "rows of table %" PRIu32 " end at %" PRIu64, t, end);
        MUST(block, bits_are_zero(block->rows, 8 * position + row_bits, 8 * end), "rows-padding",
             "behind table %" PRIu32, t);
        verify_table(block, t);
        position = end;
    }
    MUST(block, position + CLOSING_LEN == length, "rows-offset", "rows end at %" PRIu64 " of %" PRIu64, position,
         length);
    MUST(block, bits_are_zero(block->rows, 8 * position, 8 * length), "rows-padding", "closing bytes");
}
