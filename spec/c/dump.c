// Dump (section 13).

#include <stdio.h>

#include "block.h"

static bool is_escaped(uint32_t character) {
    static const uint16_t ranges[][2] = {
        {0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200F},
        {0x2028, 0x202E}, {0x2060, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
    };
    for (size_t n = 0; n < sizeof ranges / sizeof *ranges; n++) {
        if (character >= ranges[n][0] && character <= ranges[n][1]) return true;
    }
    return false;
}

// Prints text that is UTF-8.
void print_quoted(struct bytes text) {
    putchar('"');
    for (uint64_t position = 0; position < text.length;) {
        uint8_t first = text.at[position];
        unsigned length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        uint32_t character = length == 1 ? first : first & (0x7Fu >> length);
        for (unsigned n = 1; n < length; n++) {
            character = character << 6 | ((uint32_t)number_at(text, position + n, 1) & 0x3F);
        }
        if (is_escaped(character)) {
            printf("\\u%04" PRIx32, character);
        } else {
            if (first == '"' || first == '\\') putchar('\\');
            fwrite(text.at + position, 1, (size_t)slice(text, position, length).length, stdout);
        }
        position += length;
    }
    putchar('"');
}

// Prints a number in two's complement.
void print_signed(uint64_t number) {
    bool is_negative = number >> 63 != 0;
    printf("%s%" PRIu64, is_negative ? "-" : "", is_negative ? -number : number);
}

static void print_block_id(const char *name, struct bytes block_id) {
    char text[27];
    block_id_text(block_id, text);
    printf("%s %s\n", name, text);
}

static void print_range(const char *name, bool is_known, uint64_t start, uint64_t end) {
    printf("  %s ", name);
    if (!is_known) {
        printf("unknown\n");
        return;
    }
    print_signed(start);
    putchar(' ');
    print_signed(end);
    putchar('\n');
}

static void dump_front(const struct block *block) {
    static const char *const names[] = {"", "meta", "catalogue", "symbols", "rows", "members", "arena"};
    const struct header *header = &block->header;
    print_block_id("block", header->block_id);
    printf("format %d.%d\n", header->major, header->minor);
    printf("features incompat=%" PRIu32 " ro_compat=%" PRIu32 " compat=%" PRIu32 "\n", header->incompat,
           header->ro_compat, header->compat);
    printf("file %" PRIu64 " bytes\n", block->file.length);
    printf("sections %" PRIu32 "\n", header->section_count);
    for (uint32_t n = 0; n < header->section_count; n++) {
        const struct section *section = &block->sections[n];
        const char *name = section->kind < OPTIONAL_KIND         ? names[section->kind]
                           : section->kind == METRIC_KIND        ? "metric-metadata"
                           : section->kind == PACKED_METRIC_KIND ? "packed-metric-metadata"
                           : section->kind == COLUMN_KIND        ? "series-column"
                                                                 : NULL;
        if (name != NULL) {
            printf("  %s", name);
        } else {
            printf("  optional-%" PRIu32, section->kind);
        }
        printf(" %" PRIu32 " offset %" PRIu64 " length %" PRIu64 "\n", section->id, section->offset,
               section->content.length);
    }
    printf("checks %" PRIu64 " offset %" PRIu64 "\n", block->chunk_count, block->checks_offset);
}

static uint64_t print_pairs(const char *name, struct bytes content, uint64_t offset, uint32_t count) {
    for (uint32_t n = 0; n < count; n++) {
        struct bytes key, value;
        offset = read_pair(content, offset, &key, &value);
        printf("  %s ", name);
        print_quoted(key);
        putchar(' ');
        print_quoted(value);
        putchar('\n');
    }
    return offset;
}

static void dump_meta(const struct block *block) {
    const struct meta *meta = &block->meta;
    struct bytes content = meta_content(block);
    printf("meta\n  series %" PRIu64 "\n  labels %" PRIu64 "\n", meta->series_count, meta->label_count);
    printf("  fingerprint %016" PRIx64 " %016" PRIx64 "\n", meta->fingerprint[0], meta->fingerprint[1]);
    print_range("time", meta->has_time, meta->time_start, meta->time_end);
    print_range("window", meta->has_window, meta->window_start, meta->window_end);
    printf("  job ");
    if (meta->job_output_count == 0) {
        printf("none\n");
    } else {
        for (unsigned n = 0; n < ID_LEN; n++) printf("%02x", meta->job_id.at[n]);
        printf(" %" PRIu32 " %" PRIu32 "\n", meta->job_output, meta->job_output_count);
    }
    uint64_t offset = META_LEN;
    for (uint64_t n = 0; n < (uint64_t)meta->parent_count + meta->ancestor_count; n++, offset += ID_LEN) {
        print_block_id(n < meta->parent_count ? "  parent" : "  ancestor", slice(content, offset, ID_LEN));
    }
    offset = print_pairs("external", content, offset, meta->external_label_count);
    print_pairs("annotation", content, offset, meta->annotation_count);
    printf("  policy %" PRIu32 " %" PRIu32 "\n", meta->max_name_len, meta->max_value_len);
    printf("  planner %" PRIu32 "\n", meta->planner_version);
    if (meta->row_form > BIT_PACKED) {
        printf("  rows unknown-%d\n", meta->row_form);
    } else {
        printf("  rows %s\n", meta->row_form == FIXED_WIDTH ? "fixedwidth" : "bitpacked");
    }
}

static void dump_table(const struct block *block, uint32_t t) {
    static const char *const domains[] = {"symbols", "table", "pool"};
    const struct table *table = &block->tables[t];
    const char *kind = t < block->key_count           ? "dictionary"
                       : t >= inner_table_end(block)  ? "keyset"
                       : table->column_count == 1     ? "map"
                                                      : "shared";
    printf("  table %" PRIu32 " %s rows %" PRIu32 " bits %" PRIu32 "\n", t, kind, table->row_count, table->row_bits);
    for (unsigned c = 0; c < table->column_count; c++) {
        const struct column *column = &table->columns[c];
        printf("    column %u %s", c, domains[column->domain]);
        if (column->domain != DOMAIN_SYMBOLS) printf(" %" PRIu32, column->number);
        printf(" base %" PRIu32 " bits %d\n", column->base, column->width);
    }
    for (unsigned n = 0; table->leaves_are_written && n < table->leaf_count; n++) {
        struct leaf leaf = table_leaf(table, n);
        printf("    leaf %u column %d position %d\n", n, leaf.column, leaf.position);
    }
    for (uint64_t row = 0; row < table->row_count; row++) {
        printf("    row %" PRIu64, row);
        for (unsigned c = 0; c < table->column_count; c++) printf(" %" PRIu64, code_at(block, table, row, c));
        if (t < block->key_count) {
            putchar(' ');
            print_quoted(symbol(block, code_at(block, table, row, 0)));
        }
        putchar('\n');
    }
}

static void dump_tables(const struct block *block) {
    printf("symbols %" PRIu32 "\n", block->symbol_count);
    for (uint64_t id = 0; id < block->symbol_count; id++) {
        printf("  %" PRIu64 " ", id);
        print_quoted(symbol(block, id));
        putchar('\n');
    }
    printf("keys %" PRIu32 "\n", block->key_count);
    for (uint32_t key = 0; key < block->key_count; key++) {
        printf("  %" PRIu32 " ", key);
        print_quoted(symbol(block, key_name(block, key)));
        printf(" values %" PRIu32 "\n", block->tables[key].row_count);
    }
    printf("tables %" PRIu32 "\n", block->table_count);
    for (uint32_t t = 0; t < block->table_count; t++) dump_table(block, t);
    printf("pools %" PRIu32 "\n", block->pool_count);
    for (uint32_t p = 0; p < block->pool_count; p++) {
        const struct pool *pool = &block->pools[p];
        printf("  pool %" PRIu32 " table %" PRIu32 " lists %" PRIu32 " members %" PRIu32 " low %" PRIu32 "\n", p,
               pool->table, pool->list_count, pool->member_count, pool->low_width);
        for (uint64_t number = 0; number < pool->list_count; number++) {
            struct list list = list_at(block, pool, number);
            printf("    list %" PRIu64, number);
            for (uint64_t n = 0; n < list.count; n++) printf(" %" PRIu64, next_member(block, &list));
            putchar('\n');
        }
    }
}

// Returns the symbol of the value that leaf `leaf` has in a row (section 9, resolve). `member` takes the place of the
// code of a list column.
static uint64_t resolve(const struct block *block, const struct table *table, uint64_t row, unsigned leaf,
                        uint64_t member) {
    for (;;) {
        struct leaf found = table_leaf(table, leaf);
        const struct column *column = &table->columns[found.column];
        uint64_t code = column->domain == DOMAIN_POOL ? member : code_at(block, table, row, found.column);
        if (column->domain == DOMAIN_SYMBOLS) return code;
        table = domain_table(block, column);
        row = code;
        leaf = found.position;
    }
}

static void dump_series(const struct block *block, const struct table *table, uint64_t ref, uint64_t row,
                        uint64_t member) {
    printf("  %" PRIu64, ref);
    for (unsigned leaf = 0; leaf < table->leaf_count; leaf++) {
        putchar(' ');
        print_quoted(symbol(block, key_name(block, table->leaves[leaf].key)));
        putchar('=');
        print_quoted(symbol(block, resolve(block, table, row, leaf, member)));
    }
    putchar('\n');
}

static void dump_keysets(const struct block *block) {
    printf("keysets %" PRIu32 "\n", block->keyset_count);
    for (uint32_t s = 0; s < block->keyset_count; s++) {
        const struct keyset *keyset = &block->keysets[s];
        const struct table *table = &block->tables[inner_table_end(block) + s];
        printf("  keyset %" PRIu32 " table %" PRIu32 " series %" PRIu64 " %" PRIu64 " keys", s,
               inner_table_end(block) + s, keyset->first_series, keyset->series_end);
        for (unsigned leaf = 0; leaf < table->leaf_count; leaf++) {
            putchar(' ');
            print_quoted(symbol(block, key_name(block, table->leaves[leaf].key)));
        }
        putchar('\n');
        for (uint64_t row = 0; list_column(table) != NULL && row < table->row_count; row += ANCHOR_ROWS) {
            printf("    anchor %" PRIu64 " %" PRIu64 "\n", row, anchor_at(block, keyset, row / ANCHOR_ROWS));
        }
    }
    printf("series %" PRIu64 "\n", block->meta.series_count);
    uint64_t ref = 0;
    for (uint32_t s = 0; s < block->keyset_count; s++) {
        const struct table *table = &block->tables[inner_table_end(block) + s];
        const struct column *column = list_column(table);
        for (uint64_t row = 0; row < table->row_count; row++) {
            if (column == NULL) {
                dump_series(block, table, ref++, row, 0);
                continue;
            }
            uint64_t number = code_at(block, table, row, table->column_count - 1u);
            struct list list = list_at(block, &block->pools[column->number], number);
            for (uint64_t n = 0; n < list.count; n++) {
                dump_series(block, table, ref++, row, next_member(block, &list));
            }
        }
    }
}

void dump_block(struct block *block) {
    dump_front(block);
    dump_meta(block);
    dump_tables(block);
    dump_keysets(block);
    dump_metrics(block);
    dump_columns(block);
}
