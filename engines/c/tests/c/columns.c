/*
 * Reads series columns, against the values that the dumps of the golden blocks list.
 * Usage: columns BLOCK FOLDER DAMAGED DIFFERENT
 * BLOCK is testdata/golden/columns.cx. FOLDER has a copy of it, and a block without columns. DAMAGED is
 * testdata/golden/columns-groups.cx with a wrong byte in the second chunk of 8 KiB: this has the end of the column
 * "scattered", and all of "texts". The blocks of DIFFERENT have a column "value" of different types.
 */
#include "check.h"

enum { SERIES = 10 };

static cx_column *find(const cx_blocks *blocks, const char *name) {
    cx_column *column;
    SUCCEEDS(cx_column_find(blocks, name, strlen(name), &column, &error));
    CHECK(column != NULL);
    return column;
}

static cx_block_info info_of(const cx_blocks *blocks, size_t position) {
    cx_block_info info;
    SUCCEEDS(cx_blocks_info(blocks, position, &info, &error));
    return info;
}

static void lists(const cx_blocks *blocks) {
    static const struct {
        const char *name;
        cx_value_type value_type;
        cx_merge merge;
    } expected[] = {
        {"app.chunks", CX_VALUE_BYTES, CX_MERGE_NEWEST},
        {"chronoxide.first_time", CX_VALUE_I64, CX_MERGE_MIN},
        {"chronoxide.last_time", CX_VALUE_I64, CX_MERGE_MAX},
        {"flags", CX_VALUE_U64, CX_MERGE_OR},
        {"gr\xc3\xb6\xc3\x9f" "e", CX_VALUE_BYTES, CX_MERGE_DROP},
        {"hash", CX_VALUE_U64, CX_MERGE_SAME},
        {"total", CX_VALUE_I64, CX_MERGE_SUM},
    };
    cx_columns *columns;
    SUCCEEDS(cx_blocks_columns(blocks, &columns, &error));
    CHECK(cx_columns_count(columns) == sizeof expected / sizeof *expected);
    for (size_t i = 0; i < cx_columns_count(columns); i++) {
        const cx_column_info *listed = &cx_columns_items(columns)[i];
        CHECK(is_text(listed->name.data, listed->name.len, expected[i].name));
        CHECK(listed->value_type == expected[i].value_type && listed->merge == expected[i].merge);
        cx_column *column = find(blocks, expected[i].name);
        cx_column_info found;
        SUCCEEDS(cx_column_describe(column, &found, &error));
        CHECK(found.value_type == listed->value_type && found.merge == listed->merge);
        CHECK(is_text(found.name.data, found.name.len, expected[i].name));
        cx_column_free(column);
    }
    cx_columns_free(columns);
}

/* Ids of all series of a block in reverse, and then one that the block does not have, and one of no block. */
static void fill(cx_series_id ids[SERIES + 2], cx_block_id block) {
    for (uint32_t i = 0; i < SERIES; i++)
        ids[i] = (cx_series_id){block, SERIES - 1 - i};
    ids[SERIES] = (cx_series_id){block, SERIES};
    ids[SERIES + 1] = (cx_series_id){{{7}}, 0};
}

static void reads(const cx_blocks *blocks, cx_block_id block) {
    static const int64_t totals[SERIES] = {-3, -2, -1, 0, 1, 2, INT64_MIN, 0, INT64_MAX, -1};
    static const uint64_t flags[SERIES] = {1, 2, 0, 4, 1, 1, 1, 8, 1, 0};
    static const char *const chunks[SERIES] = {"a", "a", "", NULL, "chunk 17", "\xff", NULL, "\xff", "a",
                                               "gr\xc3\xb6\xc3\x9f" "e"};
    cx_series_id ids[SERIES + 2];
    fill(ids, block);
    int64_t numbers[SERIES + 2];
    uint64_t unsigned_numbers[SERIES + 2];
    bool has_value[SERIES + 2];
    cx_bytes bytes[SERIES + 2];
    memset(has_value, 1, sizeof has_value);
    cx_column *total = find(blocks, "total"), *flag = find(blocks, "flags"), *chunk = find(blocks, "app.chunks");
    SUCCEEDS(cx_column_read_i64(total, ids, SERIES + 2, numbers, has_value, &error));
    for (uint32_t i = 0; i < SERIES; i++) {
        uint32_t series = ids[i].series;
        CHECK(numbers[i] == totals[series] && has_value[i] == (series != 3 && series != 7));
    }
    CHECK(!has_value[SERIES] && !has_value[SERIES + 1] && numbers[SERIES] == 0);
    SUCCEEDS(cx_column_read_u64(flag, ids, SERIES + 2, unsigned_numbers, has_value, &error));
    for (uint32_t i = 0; i < SERIES; i++) {
        uint32_t series = ids[i].series;
        CHECK(unsigned_numbers[i] == flags[series] && has_value[i] == (series != 2 && series != 9));
    }
    CHECK(!has_value[SERIES] && !has_value[SERIES + 1]);
    SUCCEEDS(cx_column_read_bytes(chunk, ids, SERIES + 2, bytes, &error));
    for (uint32_t i = 0; i < SERIES; i++) {
        uint32_t series = ids[i].series;
        /* Of the two values that begin with FF, the dump lists a NUL behind it. */
        size_t len = chunks[series] == NULL ? 0 : series == 5 || series == 7 ? 2 : strlen(chunks[series]);
        CHECK((bytes[i].data == NULL) == (chunks[series] == NULL) && bytes[i].len == len);
        CHECK(len == 0 || memcmp(bytes[i].data, chunks[series], len) == 0);
    }
    CHECK(bytes[SERIES].data == NULL && bytes[SERIES].len == 0 && bytes[SERIES + 1].data == NULL);

    SUCCEEDS(cx_column_read_i64(total, NULL, 0, NULL, NULL, &error));
    FAILS(CX_USAGE, "\"total\" have the type i64", cx_column_read_u64(total, ids, 1, unsigned_numbers, has_value, &error));
    FAILS(CX_USAGE, "type u64", cx_column_read_i64(flag, ids, 1, numbers, has_value, &error));
    FAILS(CX_USAGE, "type bytes", cx_column_read_i64(chunk, ids, 1, numbers, has_value, &error));
    FAILS(CX_USAGE, "type u64", cx_column_read_bytes(flag, ids, 1, bytes, &error));
    FAILS(CX_USAGE, "column is NULL", cx_column_read_i64(NULL, ids, 1, numbers, has_value, &error));
    FAILS(CX_USAGE, "column is NULL", cx_column_read_u64(NULL, ids, 1, unsigned_numbers, has_value, &error));
    FAILS(CX_USAGE, "column is NULL", cx_column_read_bytes(NULL, ids, 1, bytes, &error));
    FAILS(CX_USAGE, "ids is NULL", cx_column_read_i64(total, NULL, 1, numbers, has_value, &error));
    FAILS(CX_USAGE, "values is NULL", cx_column_read_i64(total, ids, 1, NULL, has_value, &error));
    FAILS(CX_USAGE, "has_value is NULL", cx_column_read_i64(total, ids, 1, numbers, NULL, &error));
    FAILS(CX_USAGE, "no array", cx_column_read_bytes(chunk, ids, SIZE_MAX, bytes, &error));
    cx_column_free(total);
    cx_column_free(flag);
    cx_column_free(chunk);
}

/* The example of docs/columns.md. */
static cx_status print_times(const cx_blocks *blocks, const cx_series_id *ids, size_t id_count, int64_t *times,
                             bool *has_time) {
    cx_column *column;
    cx_error error;
    const char name[] = "chronoxide.first_time";
    cx_status status = cx_column_find(blocks, name, sizeof name - 1, &column, &error);
    if (status == CX_OK && column != NULL)
        status = cx_column_read_i64(column, ids, id_count, times, has_time, &error);
    for (size_t i = 0; status == CX_OK && column != NULL && i < id_count; i++)
        if (has_time[i])
            printf("series %u since %lld ns\n", (unsigned)ids[i].series, (long long)times[i]);
    cx_column_free(column);
    return status;
}

static void reads_folders(const char *folder, cx_block_id with) {
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(folder, NULL, &blocks, &error));
    CHECK(cx_blocks_count(blocks) == 2);
    lists(blocks);
    reads(blocks, with);
    cx_column *total = find(blocks, "total");
    for (size_t i = 0; i < 2; i++) {
        cx_block_info info = info_of(blocks, i);
        bool has_column = memcmp(&info.id, &with, sizeof with) == 0;
        cx_series_id id = {info.id, 0};
        int64_t value;
        bool has_value;
        SUCCEEDS(cx_column_read_i64(total, &id, 1, &value, &has_value, &error));
        CHECK(has_value == has_column && value == (has_column ? -3 : 0));
    }
    /* The column keeps the blocks. */
    cx_blocks_free(blocks);
    cx_series_id id = {with, 1};
    int64_t value;
    bool has_value;
    SUCCEEDS(cx_column_read_i64(total, &id, 1, &value, &has_value, &error));
    CHECK(has_value && value == -2);
    cx_column_free(total);
}

static void streams(const cx_blocks *blocks) {
    static const char *const formats[] = {"L", "tsn:UTC", "vz", "L", "w:16"};
    const cx_string values[] = {
        {"chronoxide.first_time", 21}, {"app.chunks", 10}, {"hash", 4}, {"chronoxide.fingerprint", 22}};
    const cx_string none = {"none", 4};
    cx_arrow_options options = {.labels = &none, .values = values, .value_count = 4};
    struct ArrowArrayStream stream;
    SUCCEEDS(cx_query_arrow_stream(blocks, NULL, &options, &stream, &error));
    struct ArrowSchema schema;
    CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 5);
    for (int i = 0; i < 5; i++)
        CHECK(strcmp(schema.children[i]->format, formats[i]) == 0);
    struct ArrowArray batch;
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == SERIES && batch.n_children == 5);
    const uint64_t *hashes = batch.children[3]->buffers[1];
    CHECK(hashes[0] == 0 && hashes[1] == UINT64_MAX && hashes[4] == 7 && batch.children[3]->null_count == 0);
    CHECK(batch.children[2]->null_count == 2);
    batch.release(&batch);
    schema.release(&schema);
    stream.release(&stream);
    options.values = &none;
    options.value_count = 1;
    FAILS(CX_USAGE, "no block has a series column \"none\"",
          cx_query_arrow_stream(blocks, NULL, &options, &stream, &error));
}

static void meets_damage(const char *path) {
    enum { ALL = 600 };
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(path, NULL, &blocks, &error));
    cx_block_info info = info_of(blocks, 0);
    CHECK(info.series_count == ALL);
    static cx_series_id ids[ALL];
    static uint64_t damaged[ALL];
    static int64_t numbers[ALL];
    static bool has_value[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        ids[i] = (cx_series_id){info.id, i};
    cx_column *scattered = find(blocks, "scattered"), *constant = find(blocks, "constant"), *texts;
    FAILS(CX_CORRUPT, path, cx_column_read_u64(scattered, ids, ALL, damaged, has_value, &error));
    FAILS(CX_CORRUPT, path, cx_column_find(blocks, "texts", 5, &texts, &error));
    CHECK(texts == NULL);
    /* Other values are sound. */
    SUCCEEDS(cx_column_read_i64(constant, ids, ALL, numbers, has_value, &error));
    CHECK(has_value[0] && numbers[0] == -7 && has_value[ALL - 1] && numbers[ALL - 1] == 7);
    cx_column_free(scattered);
    cx_column_free(constant);
    cx_blocks_free(blocks);
}

static void refuses_wrong_arguments(const cx_blocks *blocks) {
    cx_column *column;
    cx_columns *columns;
    cx_column_info info;
    SUCCEEDS(cx_column_find(blocks, "tota", 4, &column, &error));
    CHECK(column == NULL);
    SUCCEEDS(cx_column_find(blocks, NULL, 0, &column, &error));
    CHECK(column == NULL);
    FAILS(CX_USAGE, "name", cx_column_find(blocks, "\xff", 1, &column, &error));
    CHECK(column == NULL);
    FAILS(CX_USAGE, "blocks is NULL", cx_column_find(NULL, "total", 5, &column, &error));
    FAILS(CX_USAGE, "column is NULL", cx_column_find(blocks, "total", 5, NULL, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_blocks_columns(NULL, &columns, &error));
    CHECK(columns == NULL && cx_columns_count(NULL) == 0 && cx_columns_items(NULL) == NULL);
    FAILS(CX_USAGE, "columns is NULL", cx_blocks_columns(blocks, NULL, &error));
    FAILS(CX_USAGE, "column is NULL", cx_column_describe(NULL, &info, &error));
    column = find(blocks, "total");
    FAILS(CX_USAGE, "info is NULL", cx_column_describe(column, NULL, &error));
    cx_column_free(column);
    cx_column_free(NULL);
    cx_columns_free(NULL);
}

static void names_blocks_that_differ(const char *folder) {
    cx_blocks *blocks;
    cx_column *column;
    cx_columns *columns;
    SUCCEEDS(cx_blocks_map(folder, NULL, &blocks, &error));
    FAILS(CX_USAGE, "a.cx", cx_column_find(blocks, "value", 5, &column, &error));
    FAILS(CX_USAGE, "b.cx", cx_column_find(blocks, "value", 5, &column, &error));
    FAILS(CX_USAGE, "differ", cx_blocks_columns(blocks, &columns, &error));
    CHECK(column == NULL && columns == NULL);
    cx_blocks_free(blocks);
}

int main(int argc, char **argv) {
    CHECK(argc == 5);
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(argv[1], NULL, &blocks, &error));
    cx_block_id id = info_of(blocks, 0).id;
    lists(blocks);
    reads(blocks, id);
    streams(blocks);
    refuses_wrong_arguments(blocks);
    cx_series_id ids[SERIES + 2];
    int64_t times[SERIES + 2];
    bool has_time[SERIES + 2];
    fill(ids, id);
    CHECK(print_times(blocks, ids, SERIES + 2, times, has_time) == CX_OK);
    CHECK(has_time[2] && times[2] == 1700007180000000000 && !has_time[SERIES]);
    cx_blocks_free(blocks);
    reads_folders(argv[2], id);
    meets_damage(argv[3]);
    names_blocks_that_differ(argv[4]);
    return 0;
}
