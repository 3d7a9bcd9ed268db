// Types of the reader, and the functions of each file. "Section" and "rule" are those of FORMAT.md if nothing else is
// named.

#ifndef BLOCK_H
#define BLOCK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Section 2.
enum {
    MAX_SYMBOL_LEN = 65535,
    MAX_LABELS = 1023,
    MAX_COLUMNS = 1023,
    MAX_DEPTH = 10,
    MAX_SECTIONS = 1024,
    CHUNK_LEN = 8192,
    ANCHOR_ROWS = 16,
    SYMBOL_GROUP = 16,
    MAX_META_LEN = 16777216,
    MAX_UPPER_BITS = 65536,
};

enum { CLOSING_LEN = 8 };              // zero bytes that close a bit stream (section 1)
enum { META_LEN = 120, ID_LEN = 16 };  // bytes of the header of meta (section 10) and of a block id

// ---- bytes.c: numbers, bit streams and texts (section 1) ----

struct bytes {
    const uint8_t *at;
    uint64_t length;
};

// An array of records of bit-packed fields: pack(the fields of all records).
struct records {
    struct bytes bytes;
    uint64_t first_bit;
    uint64_t count;
    unsigned field_count;
    unsigned widths[8];
    uint64_t record_bits;
};

struct bytes slice(struct bytes bytes, uint64_t offset, uint64_t length);
uint64_t number_at(struct bytes bytes, uint64_t offset, unsigned size);
uint64_t bits_at(struct bytes bytes, uint64_t bit, unsigned width);
bool bits_are_zero(struct bytes bytes, uint64_t bit, uint64_t end_bit);
uint64_t whole_bytes(uint64_t bits);
unsigned width_of(uint64_t largest);
int compare_bytes(struct bytes left, struct bytes right);
bool is_utf8(struct bytes text);
uint32_t crc_update(uint32_t crc, struct bytes bytes);
struct records records_at(struct bytes bytes, uint64_t offset, uint64_t count, const uint8_t *widths,
                          unsigned field_count);
uint64_t record_field(const struct records *records, uint64_t record, unsigned field);
uint64_t records_end(const struct records *records);
bool records_have_exact_widths(const struct records *records);
bool records_have_zero_padding(const struct records *records);

// ---- The block ----

enum domain { DOMAIN_SYMBOLS, DOMAIN_TABLE, DOMAIN_POOL };

struct column {
    enum domain domain;
    uint32_t number; // of the table or pool
    uint32_t base;
    uint16_t first_bit; // of its field in a row
    uint8_t width;
};

struct leaf {
    uint32_t key;
    uint16_t column;
    uint16_t position; // n - 1 of section 7
};

struct table {
    uint64_t rows_offset;
    struct column *columns;
    struct leaf *leaves;
    uint32_t row_count;
    uint32_t row_bits;
    uint16_t column_count;
    uint16_t leaf_count;
    uint8_t depth;
    bool leaves_are_written;
    bool leaves_are_shared; // one column: `leaves` are those of its domain
};

struct pool {
    uint64_t offset;
    uint64_t ends_bit;    // part 1 of section 8
    uint64_t members_bit; // part 2
    uint64_t upper_max;   // s of section 8
    uint32_t table;
    uint32_t list_count;
    uint32_t member_count;
    uint32_t low_width;
};

// A position in a list of a pool.
struct list {
    const struct pool *pool;
    uint64_t count;
    uint64_t low_bit;
    uint64_t upper_bit;
    uint64_t upper_end;
    uint64_t zeros;
};

struct keyset {
    uint64_t first_series;
    uint64_t series_end;
    uint64_t anchors;
};

struct section {
    uint32_t kind;
    uint32_t id;
    uint64_t offset;
    struct bytes content;
};

struct header {
    uint16_t major, minor;
    uint32_t incompat, ro_compat, compat;
    struct bytes block_id;
    uint32_t section_count, front_checksum, checks_checksum;
};

struct meta {
    uint64_t series_count, label_count, fingerprint[2];
    uint64_t time_start, time_end, window_start, window_end; // i64, in two's complement
    struct bytes job_id;
    uint32_t job_output, job_output_count, parent_count, ancestor_count, external_label_count, annotation_count;
    uint32_t max_name_len, max_value_len, planner_version;
    uint8_t row_form;
    bool has_time, has_window;
};

enum row_form { FIXED_WIDTH = 0, BIT_PACKED = 1 };

struct block {
    struct bytes file;
    struct header header;
    struct section *sections;
    uint64_t checks_offset, chunk_count;
    struct bytes catalogue, symbols, rows, members, arena;
    struct meta meta;
    uint32_t symbol_count;
    unsigned symbol_base_width, symbol_difference_width;
    uint32_t key_count, table_count, pool_count, keyset_count;
    uint64_t shape_bits, shapes_bit;
    unsigned column_count_width, leaf_count_width, domain_width;
    struct records key_records, table_records, pool_records, keyset_records;
    struct table *tables;
    struct pool *pools;
    struct keyset *keysets;
    // The broken rule that is reported. A rule of class R ends verification with `refused`.
    const char *rule;
    char reason[200];
    jmp_buf refused;
    struct allocation *allocations;
};

// ---- rules.c ----

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
void break_rule(struct block *block, const char *rule, const char *reason, ...);
int exit_code_of_rule(const char *rule);
bool is_canonical_rule(const char *rule);
void *allocate(struct block *block, uint64_t count, size_t size);
void free_allocations(struct block *block);

#define MUST(block, condition, rule, ...)                                                                              \
    do {                                                                                                               \
        if (!(condition)) break_rule(block, rule, __VA_ARGS__);                                                        \
    } while (0)

// ---- Sections of the text, one file each ----

void verify_front(struct block *block);    // front.c, sections 3 and 4
void verify_meta(struct block *block);     // meta.c, section 10
void verify_symbols(struct block *block);  // symbols.c, section 6
void verify_catalogue(struct block *block); // catalogue.c, section 5, and columns and leaves of section 7
void verify_rows(struct block *block);     // rows.c, section 7
void verify_lists(struct block *block);    // lists.c, section 8
void verify_series(struct block *block);   // series.c, section 9 and the anchors of section 8
void verify_use(struct block *block);      // use.c: rules that end in -used, and policy-kept
void verify_identity(struct block *block); // identity.c, section 11
void verify_metrics(struct block *block);  // metrics.c, METRICS.md
void verify_columns(struct block *block);  // columns.c, COLUMNS.md
void dump_block(struct block *block);      // dump.c, section 13

struct bytes meta_content(const struct block *block);
uint64_t read_pair(struct bytes meta, uint64_t offset, struct bytes *key, struct bytes *value);
bool is_less_signed(uint64_t left, uint64_t right);

uint64_t symbol_start(const struct block *block, uint64_t entry);
struct bytes symbol(const struct block *block, uint64_t id);

uint32_t inner_table_end(const struct block *block);
const struct column *list_column(const struct table *table);
const struct table *domain_table(const struct block *block, const struct column *column);
struct leaf table_leaf(const struct table *table, unsigned leaf);
uint64_t key_name(const struct block *block, uint64_t key);
uint64_t code_at(const struct block *block, const struct table *table, uint64_t row, unsigned column);
unsigned row_form_width(unsigned row_form, unsigned width);

struct list list_at(const struct block *block, const struct pool *pool, uint64_t list);
uint64_t next_member(const struct block *block, struct list *list);
uint64_t anchor_at(const struct block *block, const struct keyset *keyset, uint64_t anchor);

void block_id_text(struct bytes block_id, char text[27]);

#define OPTIONAL_KIND 0x80000000u
#define METRIC_KIND 0xA0000001u
#define PACKED_METRIC_KIND 0xA0000002u
#define COLUMN_KIND 0xC0000003u

void dump_metrics(struct block *block);
void dump_columns(struct block *block);
void print_quoted(struct bytes text);
void print_signed(uint64_t number);

#endif
