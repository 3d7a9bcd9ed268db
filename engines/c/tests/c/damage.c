/*
 * Opens blocks, most of them damaged, checks the status of an eager opening with verification, and reads all that the
 * library can read with lazy checks and with none: nothing may crash, and every error is one of damage.
 * Usage: damage STATUS BLOCK [STATUS BLOCK ...]
 * STATUS is -1 for any error.
 */
#include "check.h"

static unsigned long errors = 0;

/* Counts an error of damage; any other fails the test. */
static void damaged(cx_status status, const cx_error *error, const char *path) {
    if (status == CX_OK)
        return;
    if ((status != CX_CORRUPT && status != CX_UNSUPPORTED) || error->status != status || error->message[0] == 0) {
        fprintf(stderr, "%s: %d %s\n", path, (int)status, error->message);
        exit(1);
    }
    errors++;
}

/* Reads bytes, so that the sanitizer sees that they can be read. */
static unsigned sum(const char *data, size_t len) {
    unsigned all = 0;
    for (size_t i = 0; i < len; i++)
        all += (unsigned char)data[i];
    return all;
}

static unsigned read_labels(const cx_label *labels, size_t count) {
    unsigned all = 0;
    for (size_t i = 0; i < count; i++)
        all += sum(labels[i].name, labels[i].name_len) + sum(labels[i].value, labels[i].value_len);
    return all;
}

static unsigned read_strings(const cx_strings *strings) {
    unsigned all = 0;
    for (size_t i = 0; i < cx_strings_count(strings); i++)
        all += sum(cx_strings_items(strings)[i].data, cx_strings_items(strings)[i].len);
    return all;
}

static unsigned read_rows(const cx_blocks *blocks, const cx_query *query, cx_order order, int most, const char *path) {
    unsigned all = 0;
    cx_error error;
    cx_rows *rows;
    cx_status status = cx_query_series(blocks, query, order, &rows, &error);
    if (status != CX_TOO_MANY_SERIES)
        damaged(status, &error, path);
    for (int steps = 0; status == CX_OK && steps < most; steps++) {
        cx_series series;
        cx_status step = cx_rows_next(rows, &series, &error);
        damaged(step, &error, path);
        if (step == CX_OK && series.id_count == 0)
            break;
        all += read_labels(series.labels, series.label_count);
    }
    cx_rows_free(rows);
    return all;
}

/* Reads the values of some series in all columns. */
static unsigned read_columns(const cx_blocks *blocks, cx_block_id block, uint32_t series_count, const char *path) {
    enum { MOST = 300 };
    static cx_series_id ids[MOST];
    static int64_t numbers[MOST];
    static uint64_t unsigned_numbers[MOST];
    static bool has_value[MOST];
    static cx_bytes bytes[MOST];
    size_t count = 0;
    for (; count < MOST && count < series_count; count++)
        ids[count] = (cx_series_id){block, (uint32_t)count};
    unsigned all = 0;
    cx_error error;
    cx_columns *columns;
    cx_status listed = cx_blocks_columns(blocks, &columns, &error);
    /* Columns of damaged blocks may have one name. */
    if (listed != CX_USAGE)
        damaged(listed, &error, path);
    for (size_t i = 0; i < cx_columns_count(columns); i++) {
        const cx_column_info *named = &cx_columns_items(columns)[i];
        cx_column *column;
        cx_column_info info;
        cx_status status = cx_column_find(blocks, named->name.data, named->name.len, &column, &error);
        damaged(status, &error, path);
        /* Names of damaged blocks may be in disorder: then a search misses one. */
        if (status != CX_OK || column == NULL)
            continue;
        SUCCEEDS(cx_column_describe(column, &info, &error));
        if (info.value_type == CX_VALUE_I64) {
            damaged(cx_column_read_i64(column, ids, count, numbers, has_value, &error), &error, path);
        } else if (info.value_type == CX_VALUE_U64) {
            damaged(cx_column_read_u64(column, ids, count, unsigned_numbers, has_value, &error), &error, path);
        } else {
            status = cx_column_read_bytes(column, ids, count, bytes, &error);
            damaged(status, &error, path);
            for (size_t j = 0; status == CX_OK && j < count; j++)
                all += sum((const char *)bytes[j].data, bytes[j].len);
        }
        cx_column_free(column);
    }
    cx_columns_free(columns);
    return all;
}

static unsigned read_all(const cx_blocks *blocks, const char *path) {
    /* A damaged block may claim billions of series. */
    enum { MOST = 2000 };
    cx_error error;
    unsigned all = 0;
    cx_block_info block = {.series_count = 0};
    damaged(cx_blocks_info(blocks, 0, &block, &error), &error, path);
    cx_reader *reader;
    damaged(cx_reader_new(blocks, &reader, &error), &error, path);
    for (uint32_t series = 0; series < block.series_count && series < MOST; series++) {
        size_t count = 0, found;
        const cx_label *labels;
        cx_series_id id = {block.id, series}, same;
        cx_status status = cx_reader_labels(reader, id, &labels, &count, &error);
        damaged(status, &error, path);
        if (status == CX_OK) {
            all += read_labels(labels, count);
            status = cx_blocks_find(blocks, labels, count, &same, 1, &found, &error);
            /* Labels of damaged keys may have one name. */
            if (status != CX_USAGE)
                damaged(status, &error, path);
        }
    }
    cx_reader_free(reader);
    all += read_columns(blocks, block.id, block.series_count, path);

    static const char *const texts[] = {"{}", "{job=\"api\"}", "{job!=\"\"}", "{__name__=~\".+\",pod!~\"a.*\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cx_selector *chosen = selector(texts[i]);
        const cx_selector *selectors[] = {chosen};
        cx_query query = {
            .selectors = selectors, .selector_count = 1, .max_series = 1000000, .timeout_ms = 10000};
        cx_strings *strings;
        cx_groups *groups;
        uint64_t count;
        cx_status status = cx_query_count(blocks, &query, &count, &error);
        if (status != CX_TOO_MANY_SERIES)
            damaged(status, &error, path);
        for (cx_order order = CX_ORDER_REFS; order <= CX_ORDER_LABELS; order++) {
            all += read_rows(blocks, &query, order, MOST, path);
            cx_query tolerant = query;
            cx_failures *skipped;
            SUCCEEDS(cx_failures_new(&skipped, &error));
            tolerant.damaged = skipped;
            unsigned long before = errors;
            all += read_rows(blocks, &tolerant, order, MOST, path);
            CHECK(errors == before);
            cx_failures_free(skipped);
        }
        for (int as_map = 0; as_map <= 1; as_map++) {
            const cx_arrow_options options = {.as_map = as_map != 0, .max_series = MOST};
            struct ArrowArrayStream stream;
            if (cx_query_arrow_stream(blocks, &query, &options, &stream, &error) != CX_OK)
                continue;
            struct ArrowArray batch;
            while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
                all += (unsigned)batch.length;
                batch.release(&batch);
            }
            stream.release(&stream);
        }
        const cx_string job = {"job", 3};
        for (int without = 0; without <= 1; without++) {
            status = cx_query_group(blocks, &query, &job, 1, without != 0, &groups, &error);
            if (status != CX_TOO_MANY_SERIES)
                damaged(status, &error, path);
            for (size_t group = 0; group < cx_groups_count(groups); group++)
                all += read_labels(cx_groups_items(groups)[group].labels, cx_groups_items(groups)[group].label_count);
            cx_groups_free(groups);
        }
        damaged(cx_query_label_names(blocks, &query, &strings, &error), &error, path);
        all += read_strings(strings);
        cx_strings_free(strings);
        damaged(cx_query_label_values(blocks, &query, "job", 3, &strings, &error), &error, path);
        all += read_strings(strings);
        cx_strings_free(strings);
        cx_selector_free(chosen);
    }
    return all;
}

int main(int argc, char **argv) {
    unsigned all = 0;
    CHECK(argc > 2 && argc % 2 == 1);
    for (int i = 1; i < argc; i += 2) {
        int expected = atoi(argv[i]);
        const char *path = argv[i + 1];
        cx_error error = {CX_OK, ""};
        cx_blocks *blocks;
        cx_open_options options = {.checks = CX_CHECKS_EAGER};
        cx_status status = cx_blocks_map(path, &options, &blocks, &error);
        if (status == CX_OK)
            status = cx_blocks_verify(blocks, &error);
        /* The message names the file. */
        if ((expected == -1 ? status == CX_OK : status != expected) ||
            (status != CX_OK && strncmp(error.message, path, strlen(path)) != 0)) {
            fprintf(stderr, "%s: %d %s, expected %d\n", path, (int)status, error.message, expected);
            return 1;
        }
        cx_blocks_free(blocks);
        for (options.checks = CX_CHECKS_LAZY; options.checks <= CX_CHECKS_NEVER; options.checks += 2) {
            status = cx_blocks_read(path, &options, &blocks, &error);
            damaged(status, &error, path);
            if (status == CX_OK)
                all += read_all(blocks, path);
            cx_blocks_free(blocks);
        }
    }
    printf("%d blocks, %lu errors, sum %u\n", argc / 2, errors, all);
    return 0;
}
