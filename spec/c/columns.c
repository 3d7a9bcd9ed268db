// Series columns: COLUMNS.md. Sections named here are sections of that text.

#include <stdio.h>

#include "block.h"

enum { COLUMN_LEN = 16, ARRAY_LEN = 20, MAX_COLUMN_NAME_LEN = 255, MAX_VALUE_LEN = 65535, VALUE_GROUP = 256 };
enum { TYPE_I64 = 1, TYPE_U64, TYPE_BYTES };
enum { MERGE_SUM = 4, MERGE_OR = 5, MERGE_NEWEST = 6 };
enum { GROUP_BASE_LOW, GROUP_BASE_HIGH, GROUP_COMMON, GROUP_WIDTH, GROUP_EXCEPTION_COUNT, GROUP_EXCEPTION_WIDTH };
enum { GROUP_HAS_ABSENT = 6, GROUP_START, GROUP_FIELDS };

// A number array (section 3).
struct array {
    uint64_t count;
    struct records groups;
    uint64_t groups_at, groups_len, end;
};

struct group {
    uint64_t base, common, width, exception_count, exception_width, has_absent, start;
    uint64_t row_count;
    struct bytes bytes; // of the groups from this one on
};

struct series_column {
    unsigned value_type, merge;
    struct bytes name;
    uint64_t unit;
    struct array values, starts;
    struct bytes texts;
};

static struct array read_array(struct bytes section, uint64_t offset) {
    struct array array = {.count = number_at(section, offset, 4), .groups_len = number_at(section, offset + 12, 8)};
    uint64_t group_count = (array.count + VALUE_GROUP - 1) / VALUE_GROUP;
    array.groups = records_at(section, offset + ARRAY_LEN, group_count, section.at + offset + 4, GROUP_FIELDS);
    array.groups_at = records_end(&array.groups);
    array.end = array.groups_at + array.groups_len + CLOSING_LEN;
    return array;
}

static struct group group_at(const struct array *array, uint64_t number) {
    uint64_t field[GROUP_FIELDS];
    for (unsigned n = 0; n < GROUP_FIELDS; n++) field[n] = record_field(&array->groups, number, n);
    uint64_t left = array->count - number * VALUE_GROUP;
    struct bytes groups = slice(array->groups.bytes, array->groups_at, array->groups_len);
    return (struct group){
        .base = field[GROUP_BASE_HIGH] << 32 | field[GROUP_BASE_LOW],
        .common = field[GROUP_COMMON],
        .width = field[GROUP_WIDTH],
        .exception_count = field[GROUP_EXCEPTION_COUNT],
        .exception_width = field[GROUP_EXCEPTION_WIDTH],
        .has_absent = field[GROUP_HAS_ABSENT],
        .start = field[GROUP_START],
        .row_count = left < VALUE_GROUP ? left : VALUE_GROUP,
        .bytes = slice(groups, field[GROUP_START], groups.length),
    };
}

static uint64_t exception_bit(const struct group *group, uint64_t exception) {
    return 8 * group->exception_count + exception * group->exception_width;
}

static uint64_t row_bit(const struct group *group, uint64_t row) {
    return exception_bit(group, group->exception_count) + row * group->width;
}

// Returns the number of the exception of a row, or `exception_count` if it has none.
static uint64_t find_exception(const struct group *group, uint64_t row) {
    uint64_t first = 0, end = group->exception_count;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        uint64_t exception_row = number_at(group->bytes, middle, 1);
        if (exception_row == row) return middle;
        if (exception_row < row) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return group->exception_count;
}

// Reads number `place` of an array. Returns false if it is absent.
static bool read_number(const struct array *array, uint64_t place, uint64_t *number) {
    struct group group = group_at(array, place / VALUE_GROUP);
    uint64_t row = place % VALUE_GROUP, exception = find_exception(&group, row);
    uint64_t code = exception < group.exception_count
                        ? bits_at(group.bytes, exception_bit(&group, exception), (unsigned)group.exception_width)
                        : group.common + bits_at(group.bytes, row_bit(&group, row), (unsigned)group.width);
    *number = group.base + code - group.has_absent;
    return group.has_absent == 0 || code != 0;
}

// Returns the next place whose number can differ: one row stands for a group without fields and exceptions, and one
// group for all if its records have no bits. So the length of the file bounds the work, not the count.
static uint64_t next_place(const struct array *array, uint64_t place) {
    if (array->groups.record_bits == 0) return array->count;
    struct group group = group_at(array, place / VALUE_GROUP);
    if (group.width != 0 || group.exception_count != 0) return place + 1;
    uint64_t next = (place / VALUE_GROUP + 1) * VALUE_GROUP;
    return next < array->count ? next : array->count;
}

static struct bytes text_at(const struct series_column *column, uint64_t text) {
    uint64_t start = 0, end = 0;
    read_number(&column->starts, text, &start);
    read_number(&column->starts, text + 1, &end);
    return slice(column->texts, start, end - start);
}

static struct series_column read_column(struct bytes section) {
    struct series_column column = {
        .value_type = section.at[0],
        .merge = section.at[1],
        .name = slice(section, COLUMN_LEN, number_at(section, 2, 2)),
        .unit = number_at(section, 8, 8),
    };
    column.values = read_array(section, COLUMN_LEN + column.name.length);
    if (column.value_type == TYPE_BYTES) {
        column.starts = read_array(section, column.values.end);
        column.texts = slice(section, column.starts.end, section.length);
    }
    return column;
}

static void verify_group(struct block *block, const struct array *array, uint64_t number, uint64_t *end) {
    struct group group = group_at(array, number);
    MUST(block, group.width <= 64 && group.exception_width <= 64, "value-groups", "widths of group %" PRIu64, number);
    MUST(block, group.start == *end, "value-groups", "group %" PRIu64 " should start at %" PRIu64, number, *end);
    uint64_t bits = row_bit(&group, group.row_count), length = whole_bytes(bits);
    MUST(block, length <= group.bytes.length, "value-groups", "group %" PRIu64 " ends behind the groups", number);
    *end += length;
    for (uint64_t n = 0; n < group.exception_count; n++) {
        uint64_t row = number_at(group.bytes, n, 1);
        MUST(block, row < group.row_count && (n == 0 || row > number_at(group.bytes, n - 1, 1)), "value-groups",
             "exception %" PRIu64 " of group %" PRIu64, n, number);
    }
    MUST(block, bits_are_zero(group.bytes, bits, 8 * length), "value-padding", "behind group %" PRIu64, number);
    uint64_t row_count = group.width == 0 ? 1 : group.row_count;
    for (uint64_t row = 0; row < row_count; row++) {
        uint64_t field = bits_at(group.bytes, row_bit(&group, row), (unsigned)group.width);
        if (find_exception(&group, row) < group.exception_count) {
            MUST(block, field == 0, "value-padding", "row %" PRIu64 " of group %" PRIu64, row, number);
        } else {
            MUST(block, field <= UINT64_MAX - group.common, "value-range", "row %" PRIu64 " of group %" PRIu64, row,
                 number);
        }
    }
}

// Verifies an array whose header lies in the section.
static void verify_array(struct block *block, const struct array *array) {
    static const uint8_t most[GROUP_FIELDS] = {32, 32, 48, 7, 8, 7, 1, 48};
    struct bytes section = array->groups.bytes;
    for (unsigned n = 0; n < GROUP_FIELDS; n++) {
        MUST(block, array->groups.widths[n] <= most[n], "value-header", "width %u is %u", n, array->groups.widths[n]);
    }
    MUST(block, array->groups_at <= section.length && section.length - array->groups_at >= CLOSING_LEN &&
                    array->groups_len <= section.length - array->groups_at - CLOSING_LEN,
         "value-length", "a number array ends behind the section");
    uint64_t end = 0;
    for (uint64_t place = 0; place < array->count; place += VALUE_GROUP) {
        verify_group(block, array, place / VALUE_GROUP, &end);
        if (array->groups.record_bits == 0) break;
    }
    MUST(block, end == array->groups_len, "value-groups", "groups end at %" PRIu64, end);
    MUST(block, records_have_exact_widths(&array->groups), "value-widths", "widths of group records");
    MUST(block, records_have_zero_padding(&array->groups) &&
                    bits_are_zero(section, 8 * (array->end - CLOSING_LEN), 8 * array->end),
         "value-padding", "behind an array");
}

static void verify_texts(struct block *block, const struct series_column *column) {
    const struct array *starts = &column->starts;
    uint64_t text_count = starts->count - 1; // wraps around without a start
    MUST(block, text_count <= block->meta.series_count && text_count < UINT32_MAX, "value-texts",
         "%" PRIu64 " starts of texts", starts->count);
    uint64_t before = 0, start = 0;
    for (uint64_t place = 0; place < starts->count; place = next_place(starts, place)) {
        MUST(block, read_number(starts, place, &start), "value-texts", "start %" PRIu64 " is absent", place);
        MUST(block, start >= before && start - before <= (place == 0 ? 0 : MAX_VALUE_LEN), "value-texts",
             "text %" PRIu64 " starts at %" PRIu64, place, start);
        before = start;
    }
    MUST(block, start == column->texts.length, "value-texts", "texts have %" PRIu64 " bytes", column->texts.length);
}

// Returns true if a number stands for a value: an integer of the type times `unit`, or a text.
static bool is_value(const struct series_column *column, uint64_t number) {
    if (column->value_type == TYPE_BYTES) return number < column->starts.count - 1;
    if (column->value_type == TYPE_U64) return number <= UINT64_MAX / column->unit;
    if (number <= INT64_MAX) return number <= INT64_MAX / column->unit;
    return -number <= ((uint64_t)INT64_MAX + 1) / column->unit;
}

static void verify_values(struct block *block, const struct series_column *column) {
    uint64_t text = 0; // the next one in order
    bool is_in_order = column->value_type == TYPE_BYTES;
    for (uint64_t place = 0; place < column->values.count; place = next_place(&column->values, place)) {
        uint64_t number;
        if (!read_number(&column->values, place, &number)) continue;
        MUST(block, is_value(column, number), "value-range", "the number of series %" PRIu64 " is out of range", place);
        // Out of order, each text could be compared many times.
        if (!is_in_order || (text > 0 && number == text - 1)) continue;
        is_in_order = number == text &&
                      (text == 0 || compare_bytes(text_at(column, text - 1), text_at(column, text)) != 0);
        MUST(block, is_in_order, "value-texts-used", "series %" PRIu64 " has text %" PRIu64, place, number);
        text++;
    }
    MUST(block, !is_in_order || text == column->starts.count - 1, "value-texts-used", "text %" PRIu64, text);
}

static void verify_header(struct block *block, struct bytes section) {
    MUST(block, section.length >= COLUMN_LEN, "value-header", "the section does not hold its header");
    unsigned type = section.at[0], merge = section.at[1];
    uint64_t name_len = number_at(section, 2, 2), unit = number_at(section, 8, 8);
    MUST(block, section.length - COLUMN_LEN >= name_len + ARRAY_LEN, "value-header",
         "the section does not hold its name and the header of its array");
    MUST(block, type >= TYPE_I64 && type <= TYPE_BYTES && merge <= MERGE_NEWEST &&
                    (merge != MERGE_SUM || type != TYPE_BYTES) && (merge != MERGE_OR || type == TYPE_U64),
         "value-header", "type %u with merge %u", type, merge);
    MUST(block, unit >= 1 && (type != TYPE_I64 || unit <= INT64_MAX) && (type != TYPE_BYTES || unit == 1),
         "value-header", "the unit is %" PRIu64, unit);
}

static struct bytes column_name(struct bytes section) { return slice(section, COLUMN_LEN, number_at(section, 2, 2)); }

// Names come before arrays: a wrong length of the name displaces them.
static void verify_name(struct block *block, const struct section *section, uint32_t number) {
    struct bytes name = column_name(section->content);
    MUST(block, section->id == number, "value-name", "section %" PRIu32 " has the id %" PRIu32, number, section->id);
    MUST(block, name.length >= 1 && name.length <= MAX_COLUMN_NAME_LEN && is_utf8(name), "value-name",
         "the name of column %" PRIu32, number);
    MUST(block, number == 0 || compare_bytes(column_name(section[-1].content), name) < 0, "value-name",
         "column %" PRIu32 " is out of order", number);
}

static void verify_column(struct block *block, const struct section *section, uint32_t number) {
    struct bytes content = section->content;
    verify_header(block, content);
    verify_name(block, section, number);
    struct array values = read_array(content, COLUMN_LEN + column_name(content).length);
    verify_array(block, &values);
    MUST(block, values.count == block->meta.series_count, "value-count", "%" PRIu64 " numbers", values.count);
    if (content.at[0] == TYPE_BYTES) {
        MUST(block, content.length - values.end >= ARRAY_LEN, "value-header", "the header of the starts is cut off");
        struct array starts = read_array(content, values.end);
        verify_array(block, &starts);
    } else {
        MUST(block, values.end == content.length, "value-length", "the array ends at %" PRIu64, values.end);
    }
    MUST(block, number_at(content, 4, 4) == 0, "value-padding", "reserved bytes");
    struct series_column column = read_column(content);
    if (column.value_type == TYPE_BYTES) verify_texts(block, &column);
    verify_values(block, &column);
}

void verify_columns(struct block *block) {
    uint32_t number = 0;
    for (uint32_t n = 0; n < block->header.section_count; n++) {
        if (block->sections[n].kind == COLUMN_KIND) verify_column(block, &block->sections[n], number++);
    }
}

static void dump_value(const struct series_column *column, uint64_t place) {
    uint64_t number;
    printf("    %" PRIu64 " ", place);
    if (!read_number(&column->values, place, &number)) {
        putchar('-');
    } else if (column->value_type == TYPE_I64) {
        print_signed(number * column->unit);
    } else if (column->value_type == TYPE_U64) {
        printf("%" PRIu64, number * column->unit);
    } else {
        struct bytes text = text_at(column, number);
        printf("0x");
        for (uint64_t n = 0; n < text.length; n++) printf("%02x", text.at[n]);
    }
    putchar('\n');
}

void dump_columns(struct block *block) {
    static const char *const types[] = {"", "i64", "u64", "bytes"};
    static const char *const merges[] = {"drop", "same", "min", "max", "sum", "or", "newest"};
    uint32_t count = 0, number = 0;
    for (uint32_t n = 0; n < block->header.section_count; n++) count += block->sections[n].kind == COLUMN_KIND;
    if (count == 0) return;
    printf("columns %" PRIu32 "\n", count);
    for (uint32_t n = 0; n < block->header.section_count; n++) {
        if (block->sections[n].kind != COLUMN_KIND) continue;
        struct series_column column = read_column(block->sections[n].content);
        printf("  column %" PRIu32 " ", number++);
        print_quoted(column.name);
        printf(" %s %s unit %" PRIu64 "\n", types[column.value_type], merges[column.merge], column.unit);
        for (uint64_t place = 0; place < column.values.count; place++) dump_value(&column, place);
    }
}
