// Catalogue (section 5): which keys, tables, pools and keysets there are. Columns, leaves and depth of tables
// (section 7) follow from it.

#include "block.h"

enum { CATALOGUE_LEN = 42, BASE_WIDTH_BITS = 6, END_WIDTH_BITS = 4, LEAST_SHAPE_BITS = 11, MAX_FIELD = 32 };
enum { KEY_NAME, KEY_ROW_COUNT, KEY_ROWS_OFFSET, KEY_BASE, KEY_WIDTH };
enum { TABLE_ROW_COUNT, TABLE_ROWS_OFFSET, TABLE_SHAPE };
enum { POOL_TABLE, POOL_LIST_COUNT, POOL_MEMBER_COUNT, POOL_LOW_WIDTH, POOL_OFFSET };
enum { KEYSET_SERIES_END, KEYSET_ANCHORS };
enum { SHAPE_COLUMN_COUNT, SHAPE_LEAF_COUNT, SHAPE_DOMAIN, SHAPE_FIELDS };

// Returns the number of the first keyset table.
uint32_t inner_table_end(const struct block *block) { return block->table_count - block->keyset_count; }

uint64_t key_name(const struct block *block, uint64_t key) { return record_field(&block->key_records, key, KEY_NAME); }

// Returns the list column of a table, or NULL.
const struct column *list_column(const struct table *table) {
    const struct column *last = &table->columns[table->column_count - 1];
    return last->domain == DOMAIN_POOL ? last : NULL;
}

struct leaf table_leaf(const struct table *table, unsigned leaf) {
    if (!table->leaves_are_shared) return table->leaves[leaf];
    return (struct leaf){table->leaves[leaf].key, 0, (uint16_t)leaf};
}

static void verify_header(struct block *block) {
    // Greatest widths, from byte 24 on: KEY, TABLE, shape, POOL, KEYSET.
    static const uint8_t most[] = {32, 32, 48, 32, 32, 32, 48, 48, 10, 10, 32, 32, 32, 32, 32, 48, 32, 48};
    struct bytes section = block->catalogue;
    MUST(block, section.length >= CATALOGUE_LEN, "catalogue-header", "the section does not hold its header");
    for (unsigned n = 0; n < sizeof most; n++) {
        MUST(block, section.at[24 + n] <= most[n], "catalogue-header", "width %d is %d", n, section.at[24 + n]);
    }
    block->key_count = (uint32_t)number_at(section, 0, 4);
    block->table_count = (uint32_t)number_at(section, 4, 4);
    block->pool_count = (uint32_t)number_at(section, 8, 4);
    block->keyset_count = (uint32_t)number_at(section, 12, 4);
    block->shape_bits = number_at(section, 16, 8);
    block->column_count_width = section.at[32];
    block->leaf_count_width = section.at[33];
    block->domain_width = section.at[34];
    MUST(block, block->shape_bits >> 48 == 0, "catalogue-header", "%" PRIu64 " bits of shapes", block->shape_bits);
    MUST(block, (uint64_t)block->key_count + block->keyset_count <= block->table_count, "catalogue-header",
         "too few tables");
    uint64_t shape_count = block->table_count - block->key_count;
    MUST(block, shape_count == 0 || block->domain_width != 0, "catalogue-header", "shapes without domains");

    block->key_records = records_at(section, CATALOGUE_LEN, block->key_count, section.at + 24, 5);
    uint64_t offset = records_end(&block->key_records);
    block->table_records = records_at(section, offset, shape_count, section.at + 29, 3);
    offset = records_end(&block->table_records);
    block->shapes_bit = 8 * offset;
    offset += whole_bytes(block->shape_bits);
    block->pool_records = records_at(section, offset, block->pool_count, section.at + 35, 5);
    offset = records_end(&block->pool_records);
    block->keyset_records = records_at(section, offset, block->keyset_count, section.at + 40, 2);
    uint64_t end = records_end(&block->keyset_records);
    const struct records *arrays[] = {&block->key_records, &block->table_records, &block->pool_records,
                                      &block->keyset_records};
    for (unsigned n = 0; n < 4; n++) {
        MUST(block, arrays[n]->count <= 1 || arrays[n]->record_bits != 0, "catalogue-header", "records of 0 bits");
    }
    MUST(block, section.length == end + CLOSING_LEN, "catalogue-length", "the section should have %" PRIu64 " bytes",
         end + CLOSING_LEN);
    for (unsigned n = 0; n < 4; n++) {
        MUST(block, records_have_exact_widths(arrays[n]), "catalogue-widths", "records of array %d", n);
        MUST(block, records_have_zero_padding(arrays[n]), "catalogue-padding", "behind array %d", n);
    }
    uint64_t shapes_end = block->shapes_bit + block->shape_bits;
    MUST(block, bits_are_zero(section, shapes_end, 8 * whole_bytes(shapes_end)), "catalogue-padding", "behind shapes");
    MUST(block, bits_are_zero(section, 8 * end, 8 * section.length), "catalogue-padding", "closing bytes");
}

static void read_pools(struct block *block) {
    // A list takes at least a bit of a pool's whole bytes, so this bounds the memory for pools.
    for (uint32_t p = 0; p < block->pool_count; p++) {
        uint64_t list_count = record_field(&block->pool_records, p, POOL_LIST_COUNT);
        MUST(block, list_count >= 1 && record_field(&block->pool_records, p, POOL_MEMBER_COUNT) >= list_count,
             "pool-lists", "pool %" PRIu32 " has an empty list, or none", p);
    }
    MUST(block, block->pool_count <= block->members.length, "members-extent", "pools lie behind the section");
    block->pools = allocate(block, block->pool_count, sizeof *block->pools);
    for (uint32_t p = 0; p < block->pool_count; p++) {
        struct pool *pool = &block->pools[p];
        pool->table = (uint32_t)record_field(&block->pool_records, p, POOL_TABLE);
        pool->list_count = (uint32_t)record_field(&block->pool_records, p, POOL_LIST_COUNT);
        pool->member_count = (uint32_t)record_field(&block->pool_records, p, POOL_MEMBER_COUNT);
        pool->low_width = (uint32_t)record_field(&block->pool_records, p, POOL_LOW_WIDTH);
        pool->offset = record_field(&block->pool_records, p, POOL_OFFSET);
        MUST(block, pool->table < inner_table_end(block), "pool-table", "pool %" PRIu32 " is over table %" PRIu32, p,
             pool->table);
        MUST(block, p == 0 || pool[-1].table < pool->table, "pool-order", "pool %" PRIu32 " is out of order", p);
    }
}

static void read_dictionary(struct block *block, uint32_t key) {
    struct table *table = &block->tables[key];
    const struct records *records = &block->key_records;
    uint64_t name = key_name(block, key), width = record_field(records, key, KEY_WIDTH);
    MUST(block, name < block->symbol_count && (key == 0 || key_name(block, key - 1) < name), "keys-order",
         "the name of key %" PRIu32 " is symbol %" PRIu64, key, name);
    MUST(block, width <= MAX_FIELD, "table-extent", "rows of key %" PRIu32 " have %" PRIu64 " bits", key, width);
    table->row_count = (uint32_t)record_field(records, key, KEY_ROW_COUNT);
    table->rows_offset = record_field(records, key, KEY_ROWS_OFFSET);
    table->row_bits = (uint32_t)width;
    table->column_count = table->leaf_count = 1;
    table->columns = allocate(block, 1, sizeof *table->columns);
    table->columns->domain = DOMAIN_SYMBOLS;
    table->columns->base = (uint32_t)record_field(records, key, KEY_BASE);
    table->columns->width = (uint8_t)width;
    table->leaves = allocate(block, 1, sizeof *table->leaves);
    table->leaves->key = key;
}

// Returns the table whose rows the codes of a column, or the members of its lists, are.
const struct table *domain_table(const struct block *block, const struct column *column) {
    return &block->tables[column->domain == DOMAIN_POOL ? block->pools[column->number].table : column->number];
}

static void read_domain(struct block *block, uint32_t t, unsigned c, uint64_t domain) {
    const struct table *table = &block->tables[t];
    struct column *column = &table->columns[c];
    uint64_t tables = block->table_count;
    if (domain > tables) {
        MUST(block, domain - tables - 1 < block->pool_count, "column-domain", "table %" PRIu32 " column %u: no pool", t,
             c);
        column->domain = DOMAIN_POOL;
        column->number = (uint32_t)(domain - tables - 1);
        MUST(block, t >= inner_table_end(block) && c > 0 && c + 1 == table->column_count, "list-column",
             "table %" PRIu32 " column %u is a list column", t, c);
        return;
    }
    MUST(block, domain != 0 && domain - 1 < t && domain - 1 < inner_table_end(block), "column-domain",
         "table %" PRIu32 " column %u has the domain %" PRIu64, t, c, domain);
    column->domain = DOMAIN_TABLE;
    column->number = (uint32_t)(domain - 1);
}

static uint64_t shape_field(struct block *block, uint64_t *bit, unsigned width, uint32_t t) {
    MUST(block, width <= block->shape_bits - *bit, "table-columns", "the shape of table %" PRIu32 " is cut off", t);
    uint64_t field = bits_at(block->catalogue, block->shapes_bit + *bit, width);
    *bit += width;
    return field;
}

// Reads the columns of a table. Returns the number of leaves that are written out.
static unsigned read_columns(struct block *block, uint32_t t, uint64_t *bit, uint64_t united[SHAPE_FIELDS]) {
    struct table *table = &block->tables[t];
    unsigned column_count = (unsigned)shape_field(block, bit, block->column_count_width, t);
    unsigned leaf_count = (unsigned)shape_field(block, bit, block->leaf_count_width, t);
    unsigned base_width = (unsigned)shape_field(block, bit, BASE_WIDTH_BITS, t);
    unsigned end_width = (unsigned)shape_field(block, bit, END_WIDTH_BITS, t);
    MUST(block, column_count >= 1, "table-columns", "table %" PRIu32 " has no columns", t);
    MUST(block, base_width <= MAX_FIELD, "table-columns", "bases of table %" PRIu32 " have %u bits", t, base_width);
    table->column_count = (uint16_t)column_count;
    table->columns = allocate(block, column_count, sizeof *table->columns);
    uint64_t bases = 0, ends = 0;
    for (unsigned c = 0; c < column_count; c++) {
        struct column *column = &table->columns[c];
        uint64_t domain = shape_field(block, bit, block->domain_width, t);
        united[SHAPE_DOMAIN] |= domain;
        read_domain(block, t, c, domain);
        column->base = (uint32_t)shape_field(block, bit, base_width, t);
        unsigned end_bit = (unsigned)shape_field(block, bit, end_width, t);
        MUST(block, end_bit >= table->row_bits && end_bit - table->row_bits <= MAX_FIELD, "table-extent",
             "table %" PRIu32 " column %u ends at bit %u", t, c, end_bit);
        column->first_bit = (uint16_t)table->row_bits;
        column->width = (uint8_t)(end_bit - table->row_bits);
        table->row_bits = end_bit;
        bases |= column->base;
        ends |= end_bit;
    }
    MUST(block, base_width == width_of(bases) && end_width == width_of(ends), "catalogue-widths",
         "shape of table %" PRIu32, t);
    united[SHAPE_COLUMN_COUNT] |= column_count;
    united[SHAPE_LEAF_COUNT] |= leaf_count;
    return leaf_count;
}

// Makes the leaves of a table with several columns: as the shape has them, or one for each column.
static void read_leaves(struct block *block, uint32_t t, uint64_t *bit) {
    struct table *table = &block->tables[t];
    uint16_t used[MAX_COLUMNS] = {0};
    table->leaves = allocate(block, table->leaf_count, sizeof *table->leaves);
    for (unsigned n = 0; n < table->leaf_count; n++) {
        unsigned c = n;
        if (table->leaves_are_written) c = (unsigned)shape_field(block, bit, width_of(table->column_count - 1u), t);
        MUST(block, c < table->column_count && used[c] < domain_table(block, &table->columns[c])->leaf_count,
             "leaves-order", "leaf %u of table %" PRIu32 " is not a leaf of column %u", n, t, c);
        uint32_t key = domain_table(block, &table->columns[c])->leaves[used[c]].key;
        table->leaves[n] = (struct leaf){key, (uint16_t)c, used[c]++};
        MUST(block, n == 0 || table->leaves[n - 1].key < table->leaves[n].key, "leaves-order",
             "leaf %u of table %" PRIu32 " is out of order", n, t);
    }
}

static void read_table(struct block *block, uint32_t t, uint64_t *bit, uint64_t united[SHAPE_FIELDS]) {
    struct table *table = &block->tables[t];
    uint32_t record = t - block->key_count;
    MUST(block, record_field(&block->table_records, record, TABLE_SHAPE) == *bit, "table-columns",
         "the shape of table %" PRIu32 " should be at bit %" PRIu64, t, *bit);
    table->row_count = (uint32_t)record_field(&block->table_records, record, TABLE_ROW_COUNT);
    table->rows_offset = record_field(&block->table_records, record, TABLE_ROWS_OFFSET);
    unsigned written = read_columns(block, t, bit, united);
    uint64_t total = 0;
    bool is_plain = true; // one leaf per column, with increasing keys
    for (unsigned c = 0; c < table->column_count; c++) {
        const struct column *column = &table->columns[c];
        const struct table *domain = domain_table(block, column);
        total += domain->leaf_count;
        if (domain->depth >= table->depth) table->depth = (uint8_t)(domain->depth + 1);
        bool is_in_order = c == 0 || domain_table(block, column - 1)->leaves->key < domain->leaves->key;
        is_plain = is_plain && domain->leaf_count == 1 && is_in_order;
        MUST(block, is_in_order || column->domain == DOMAIN_POOL, "columns-order",
             "column %u of table %" PRIu32 " is out of order", c, t);
    }
    MUST(block, table->depth <= MAX_DEPTH, "table-depth", "table %" PRIu32 " has the depth %d", t, table->depth);
    MUST(block, total <= MAX_LABELS, "leaves-order", "table %" PRIu32 " has %" PRIu64 " leaves", t, total);
    bool is_needed = table->column_count > 1 && !is_plain;
    MUST(block, written == total || (written == 0 && !is_needed), "leaves-written",
         "%u of %" PRIu64 " leaves of table %" PRIu32 " are written", written, total, t);
    MUST(block, written == 0 || is_needed, "leaves-needed", "leaves of table %" PRIu32 " are written", t);
    table->leaf_count = (uint16_t)total;
    table->leaves_are_written = written != 0;
    table->leaves_are_shared = table->column_count == 1;
    if (table->leaves_are_shared) {
        // Many tables can be over one with many leaves: not copied, they take no memory. Fields have 0 bits.
        table->leaves = domain_table(block, table->columns)->leaves;
    } else {
        read_leaves(block, t, bit);
    }
}

void verify_catalogue(struct block *block) {
    verify_header(block);
    // These two follow from rules below and bound the memory for tables.
    MUST(block, block->key_count <= block->symbol_count, "keys-order", "there are more keys than symbols");
    MUST(block, block->table_records.count <= block->shape_bits / LEAST_SHAPE_BITS, "table-columns",
         "there are more tables than shapes");
    read_pools(block);
    block->tables = allocate(block, block->table_count, sizeof *block->tables);
    uint64_t bit = 0, united[SHAPE_FIELDS] = {0}; // as wide as the largest values
    for (uint32_t t = 0; t < block->table_count; t++) {
        if (t < block->key_count) {
            read_dictionary(block, t);
        } else {
            read_table(block, t, &bit, united);
        }
        MUST(block, block->tables[t].row_count >= 1, "table-rows", "table %" PRIu32 " has no rows", t);
    }
    MUST(block, bit == block->shape_bits, "table-columns", "shapes end at bit %" PRIu64, bit);
    MUST(block, block->column_count_width == width_of(united[SHAPE_COLUMN_COUNT]) &&
                    block->leaf_count_width == width_of(united[SHAPE_LEAF_COUNT]) &&
                    block->domain_width == width_of(united[SHAPE_DOMAIN]),
         "catalogue-widths", "fields of shapes");
    block->keysets = allocate(block, block->keyset_count, sizeof *block->keysets);
    for (uint32_t s = 0; s < block->keyset_count; s++) {
        struct keyset *keyset = &block->keysets[s];
        keyset->first_series = s == 0 ? 0 : keyset[-1].series_end;
        keyset->series_end = record_field(&block->keyset_records, s, KEYSET_SERIES_END);
        keyset->anchors = record_field(&block->keyset_records, s, KEYSET_ANCHORS);
    }
}
