/*
 * Calls every function, with right and with wrong arguments. The block is testdata/golden/plain-bitpacked.cx, the
 * folder is empty but for a copy of it, a block of another id with 7 of the same 10 series, and a file that is not a
 * block.
 * Usage: api BLOCK FOLDER
 */
#include "check.h"

static cx_query one(const cx_selector *const *selector) {
    return (cx_query){.selectors = selector, .selector_count = 1};
}

static void opens(const char *path) {
    cx_blocks *blocks;
    cx_block_info info, same;
    cx_open_options options = {.checks = CX_CHECKS_LAZY};
    for (; options.checks <= CX_CHECKS_NEVER; options.checks++) {
        SUCCEEDS(cx_blocks_map(path, &options, &blocks, &error));
        SUCCEEDS(cx_blocks_verify(blocks, &error));
        SUCCEEDS(cx_blocks_info(blocks, 0, &info, &error));
        CHECK(cx_blocks_count(blocks) == 1 && is_text(info.path.data, info.path.len, path));
        CHECK(info.series_count == 10 && (info.has_time || (info.time.start == 0 && info.time.end == 0)));
        cx_blocks_free(blocks);
        SUCCEEDS(cx_blocks_read(path, &options, &blocks, &error));
        SUCCEEDS(cx_blocks_info(blocks, 0, &same, &error));
        CHECK(memcmp(&info.id, &same.id, sizeof info.id) == 0);
        cx_blocks_free(blocks);
    }
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    static uint8_t bytes[1 << 16];
    size_t len = fread(bytes, 1, sizeof bytes, file);
    CHECK(feof(file));
    fclose(file);
    options.checks = CX_CHECKS_EAGER;
    SUCCEEDS(cx_blocks_from_bytes(bytes, len, &options, &blocks, &error));
    memset(bytes, 0, sizeof bytes);
    SUCCEEDS(cx_blocks_verify(blocks, &error));
    SUCCEEDS(cx_blocks_info(blocks, 0, &same, &error));
    CHECK(memcmp(&info.id, &same.id, sizeof info.id) == 0 && same.path.len == 0);
    FAILS(CX_USAGE, "position: 1 of 1", cx_blocks_info(blocks, 1, &same, &error));
    cx_blocks *fresh;
    SUCCEEDS(cx_blocks_refresh(blocks, &fresh, &error));
    cx_blocks_free(blocks);
    SUCCEEDS(cx_blocks_verify(fresh, &error));
    cx_blocks_free(fresh);
    FAILS(CX_CORRUPT, "magic", cx_blocks_from_bytes(bytes, len, NULL, &blocks, &error));
    CHECK(blocks == NULL);
    FAILS(CX_CORRUPT, "", cx_blocks_from_bytes(NULL, 0, NULL, &blocks, &error));
}

static void refuses_wrong_arguments(const char *path) {
    cx_blocks *blocks, *closed = NULL;
    FAILS(CX_IO, "/no/such/file.cx: ", cx_blocks_map("/no/such/file.cx", NULL, &closed, &error));
    CHECK(closed == NULL);
    FAILS(CX_USAGE, "path is NULL", cx_blocks_map(NULL, NULL, &closed, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_blocks_read(path, NULL, NULL, &error));
    cx_open_options options = {.checks = 3};
    FAILS(CX_USAGE, "checks: 3", cx_blocks_read(path, &options, &closed, &error));
    FAILS(CX_USAGE, "bytes is NULL", cx_blocks_from_bytes(NULL, 8, NULL, &closed, &error));
    options.checks = -1;
    CHECK(cx_blocks_read(path, &options, &closed, NULL) == CX_USAGE);
    FAILS(CX_USAGE, "blocks is NULL", cx_blocks_refresh(NULL, &closed, &error));
    SUCCEEDS(cx_blocks_read(path, NULL, &blocks, &error));

    cx_block_info info;
    const cx_label *read;
    cx_label labels[8];
    size_t count;
    cx_series_id id = {{{0}}, 0};
    cx_selector *selector;
    cx_rows *rows;
    cx_reader *reader;
    cx_strings *strings;
    cx_groups *groups;
    cx_series series;
    uint64_t counted;
    FAILS(CX_USAGE, "blocks is NULL", cx_blocks_info(NULL, 0, &info, &error));
    FAILS(CX_USAGE, "info is NULL", cx_blocks_info(blocks, 0, NULL, &error));
    FAILS(CX_USAGE, "labels is NULL", cx_blocks_find(blocks, NULL, 1, &id, 1, &count, &error));
    labels[0] = label("job", "db");
    FAILS(CX_USAGE, "ids is NULL", cx_blocks_find(blocks, labels, 1, NULL, 1, &count, &error));
    FAILS(CX_USAGE, "count is NULL", cx_blocks_find(blocks, labels, 1, &id, 1, NULL, &error));
    FAILS(CX_USAGE, "no array", cx_blocks_find(blocks, labels, SIZE_MAX, &id, 1, &count, &error));
    labels[0].value_len = SIZE_MAX;
    FAILS(CX_USAGE, "label value", cx_blocks_find(blocks, labels, 1, &id, 1, &count, &error));
    labels[0].value_len = 2;
    labels[1] = labels[0];
    FAILS(CX_USAGE, "two labels", cx_blocks_find(blocks, labels, 2, &id, 1, &count, &error));
    FAILS(CX_USAGE, "selector text", cx_selector_parse("{a=\"\xff\"}", 8, &selector, &error));
    CHECK(selector == NULL);
    FAILS(CX_USAGE, "selector", cx_selector_parse("up{", 3, &selector, &error));
    FAILS(CX_USAGE, "function", cx_selector_parse("rate(up[5m])", 12, &selector, &error));
    cx_matcher matcher = {"pod", 3, 4, "(", 1};
    FAILS(CX_USAGE, "CX_OPERATOR", cx_selector_new(&matcher, 1, &selector, &error));
    matcher.op = CX_OPERATOR_MATCHES;
    FAILS(CX_USAGE, "matcher of pod", cx_selector_new(&matcher, 1, &selector, &error));
    matcher.name_len = 0;
    FAILS(CX_USAGE, "empty label name", cx_selector_new(&matcher, 1, &selector, &error));
    FAILS(CX_USAGE, "matchers is NULL", cx_selector_new(NULL, 1, &selector, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_query_count(NULL, NULL, &counted, &error));
    FAILS(CX_USAGE, "count is NULL", cx_query_count(blocks, NULL, NULL, &error));
    const cx_selector *missing[] = {NULL};
    cx_query query = one(missing);
    FAILS(CX_USAGE, "selector is NULL", cx_query_count(blocks, &query, &counted, &error));
    FAILS(CX_USAGE, "rows is NULL", cx_query_series(blocks, NULL, CX_ORDER_REFS, NULL, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_query_series(NULL, NULL, CX_ORDER_REFS, &rows, &error));
    CHECK(rows == NULL);
    FAILS(CX_USAGE, "order: 2", cx_query_series(blocks, NULL, 2, &rows, &error));
    FAILS(CX_USAGE, "rows is NULL", cx_rows_next(NULL, &series, &error));
    CHECK(series.id_count == 0);
    FAILS(CX_USAGE, "reader is NULL", cx_reader_new(blocks, NULL, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_reader_new(NULL, &reader, &error));
    FAILS(CX_USAGE, "reader is NULL", cx_reader_labels(NULL, id, &read, &count, &error));
    CHECK(read == NULL && count == 0);
    FAILS(CX_USAGE, "name is NULL", cx_query_label_values(blocks, NULL, NULL, 3, &strings, &error));
    CHECK(strings == NULL);
    FAILS(CX_USAGE, "names is NULL", cx_query_group(blocks, NULL, NULL, 1, false, &groups, &error));
    SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_REFS, &rows, &error));
    FAILS(CX_USAGE, "series is NULL", cx_rows_next(rows, NULL, &error));
    cx_series_batch batch;
    FAILS(CX_USAGE, "series is NULL", cx_rows_next_batch(rows, 1, NULL, &error));
    FAILS(CX_USAGE, "max_count", cx_rows_next_batch(rows, 0, &batch, &error));
    FAILS(CX_USAGE, "rows is NULL", cx_rows_next_batch(NULL, 1, &batch, &error));
    CHECK(batch.series_count == 0 && batch.labels == NULL);
    cx_rows_free(rows);
    FAILS(CX_USAGE, "reader is NULL", cx_reader_labels_batch(NULL, &id, 1, &batch, &error));
    SUCCEEDS(cx_reader_new(blocks, &reader, &error));
    FAILS(CX_USAGE, "series is NULL", cx_reader_labels_batch(reader, &id, 1, NULL, &error));
    FAILS(CX_USAGE, "ids is NULL", cx_reader_labels_batch(reader, NULL, 1, &batch, &error));
    cx_reader_free(reader);
    cx_selection *selection;
    FAILS(CX_USAGE, "selection is NULL", cx_query_select(blocks, NULL, NULL, &error));
    FAILS(CX_USAGE, "blocks is NULL", cx_query_select(NULL, NULL, &selection, &error));
    CHECK(selection == NULL && cx_selection_range_count(NULL) == 0 && cx_selection_ranges(NULL) == NULL);
    cx_selection_free(NULL);

    CHECK(cx_blocks_count(NULL) == 0 && cx_blocks_damaged(NULL) == NULL);
    CHECK(cx_strings_count(NULL) == 0 && cx_strings_items(NULL) == NULL);
    CHECK(cx_groups_count(NULL) == 0 && cx_groups_items(NULL) == NULL);
    CHECK(cx_failures_count(NULL) == 0);
    cx_blocks_free(NULL), cx_selector_free(NULL), cx_rows_free(NULL), cx_reader_free(NULL), cx_groups_free(NULL);
    cx_strings_free(NULL), cx_cancel_free(NULL), cx_cancel_set(NULL), cx_failures_free(NULL);
    cx_blocks_free(blocks);
}

static void finds(const cx_blocks *blocks, size_t times) {
    cx_label labels[] = {label("pod", "db-1"), label("job", "db"), label("env", ""), label("__name__", "up")};
    cx_series_id ids[4];
    size_t count;
    SUCCEEDS(cx_blocks_find(blocks, labels, 4, ids, 4, &count, &error));
    CHECK(count == times);
    cx_reader *reader;
    SUCCEEDS(cx_reader_new(blocks, &reader, &error));
    for (size_t i = 0; i < times; i++) {
        const cx_label *found;
        SUCCEEDS(cx_reader_labels(reader, ids[i], &found, &count, &error));
        CHECK(count == 3 && is_text(found[2].name, found[2].name_len, "pod"));
        CHECK(is_text(found[2].value, found[2].value_len, "db-1"));
    }
    cx_reader_free(reader);
    FAILS(CX_TOO_SMALL, "room for 0", cx_blocks_find(blocks, labels, 4, NULL, 0, &count, &error));
    CHECK(count == times);
    SUCCEEDS(cx_blocks_find(blocks, labels, 2, ids, 4, &count, &error));
    CHECK(count == 0);
    SUCCEEDS(cx_blocks_find(blocks, NULL, 0, ids, 4, &count, &error));
    CHECK(count == 0);
}

/* Reads all series, and checks that none fails. Returns their number. */
static uint64_t read_all(cx_rows *rows) {
    cx_series series;
    for (uint64_t seen = 0;; seen++) {
        SUCCEEDS(cx_rows_next(rows, &series, &error));
        if (series.id_count == 0)
            return seen;
        CHECK(series.label_count > 0);
    }
}

static bool same_labels(const cx_label *left, const cx_label *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (left[i].name != right[i].name || left[i].name_len != right[i].name_len || left[i].value != right[i].value ||
            left[i].value_len != right[i].value_len)
            return false;
    return true;
}

/* Many series at once are those of single calls, in batches of any length. */
static void reads_batches(const cx_blocks *blocks) {
    for (size_t length = 1; length < 12; length++) {
        cx_rows *rows, *single;
        cx_reader *reader;
        cx_series_batch batch, read;
        cx_series series;
        SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_LABELS, &rows, &error));
        SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_LABELS, &single, &error));
        SUCCEEDS(cx_reader_new(blocks, &reader, &error));
        size_t seen = 0;
        for (;;) {
            SUCCEEDS(cx_rows_next_batch(rows, length, &batch, &error));
            if (batch.series_count == 0)
                break;
            CHECK(batch.series_count == (seen + length > 10 ? 10 - seen : length));
            SUCCEEDS(cx_reader_labels_batch(reader, batch.ids, batch.series_count, &read, &error));
            CHECK(read.ids == NULL && read.series_count == batch.series_count);
            for (size_t i = 0; i < batch.series_count; i++, seen++) {
                SUCCEEDS(cx_rows_next(single, &series, &error));
                size_t first = i == 0 ? 0 : batch.label_ends[i - 1];
                CHECK(batch.id_ends[i] == i + 1 && batch.ids[i].series == series.ids->series);
                CHECK(batch.label_ends[i] - first == series.label_count && read.label_ends[i] == batch.label_ends[i]);
                CHECK(same_labels(batch.labels + first, series.labels, series.label_count));
                CHECK(same_labels(read.labels + first, series.labels, series.label_count));
            }
        }
        CHECK(seen == 10 && batch.labels == NULL);
        cx_rows_free(rows), cx_rows_free(single), cx_reader_free(reader);
    }
    cx_selection *selection;
    cx_selector *up = selector("up");
    const cx_selector *selectors[] = {up};
    cx_query query = one(selectors);
    uint64_t counted, total = 0;
    SUCCEEDS(cx_query_count(blocks, &query, &counted, &error));
    SUCCEEDS(cx_query_select(blocks, &query, &selection, &error));
    for (size_t i = 0; i < cx_selection_range_count(selection); i++) {
        const cx_id_range range = cx_selection_ranges(selection)[i];
        CHECK(range.start < range.end && (i == 0 || range.start > cx_selection_ranges(selection)[i - 1].end));
        total += range.end - range.start;
    }
    CHECK(total == counted && counted > 0);
    cx_selection_free(selection), cx_selector_free(up);
}

static void selects(const cx_blocks *blocks) {
    cx_selector *pods = selector("up{pod!=\"\"}"), *others = selector("{__name__!=\"up\"}");
    cx_matcher matchers[] = {{"__name__", 8, CX_OPERATOR_EQUAL, "up", 2}, {"pod", 3, CX_OPERATOR_MATCHES, ".+", 2}};
    cx_selector *same;
    SUCCEEDS(cx_selector_new(matchers, 2, &same, &error));
    const cx_selector *by_text[] = {pods, others}, *by_matchers[] = {same};
    cx_query query = one(by_text), other = one(by_matchers);
    uint64_t total, counted, all;
    SUCCEEDS(cx_query_count(blocks, &query, &total, &error));
    SUCCEEDS(cx_query_count(blocks, &other, &counted, &error));
    CHECK(total > 1 && counted == total);
    SUCCEEDS(cx_query_count(blocks, NULL, &all, &error));
    for (cx_order order = CX_ORDER_REFS; order <= CX_ORDER_LABELS; order++) {
        cx_rows *rows;
        SUCCEEDS(cx_query_series(blocks, &query, order, &rows, &error));
        CHECK(read_all(rows) == total);
        cx_rows_free(rows);
    }
    /* Series of either selector. */
    cx_query either = {.selectors = by_text, .selector_count = 2}, rest = one(by_text + 1);
    uint64_t of_rest, of_either;
    SUCCEEDS(cx_query_count(blocks, &rest, &of_rest, &error));
    SUCCEEDS(cx_query_count(blocks, &either, &of_either, &error));
    CHECK(of_either == total + of_rest && of_either <= all);

    /* Limits. */
    cx_rows *rows;
    query.max_series = total - 1;
    FAILS(CX_TOO_MANY_SERIES, "more than", cx_query_series(blocks, &query, CX_ORDER_REFS, &rows, &error));
    CHECK(rows == NULL);
    query.max_series = 0;
    query.max_memory = 7;
    FAILS(CX_OUT_OF_RESOURCES, "memory limit", cx_query_series(blocks, &query, CX_ORDER_REFS, &rows, &error));
    query.max_memory = 0;
    query.timeout_ms = 60000;
    cx_cancel *cancel;
    SUCCEEDS(cx_cancel_new(&cancel, &error));
    query.cancel = cancel;
    SUCCEEDS(cx_query_count(blocks, &query, &counted, &error));
    /* Rows keep what they were made from. */
    SUCCEEDS(cx_query_series(blocks, &query, CX_ORDER_LABELS, &rows, &error));
    cx_cancel_set(cancel);
    FAILS(CX_CANCELLED, "cancelled", cx_query_count(blocks, &query, &counted, &error));
    cx_cancel_free(cancel);
    cx_series series;
    FAILS(CX_CANCELLED, "cancelled", cx_rows_next(rows, &series, &error));
    cx_rows_free(rows);
    cx_selector_free(pods);
    cx_selector_free(others);
    cx_selector_free(same);
}

static void lists_names_and_values(const cx_blocks *blocks) {
    cx_selector *db = selector("{job=\"db\"}"), *everything = selector("{}");
    const cx_selector *of_db[] = {db}, *of_all[] = {everything};
    cx_query query = one(of_db), all_series = one(of_all);
    cx_strings *all, *some;
    SUCCEEDS(cx_query_label_names(blocks, NULL, &all, &error));
    SUCCEEDS(cx_query_label_names(blocks, &all_series, &some, &error));
    CHECK(cx_strings_count(all) >= 3 && cx_strings_count(all) == cx_strings_count(some));
    CHECK(is_text(cx_strings_items(all)[0].data, cx_strings_items(all)[0].len, "__name__"));
    cx_strings_free(some);
    SUCCEEDS(cx_query_label_names(blocks, &query, &some, &error));
    CHECK(cx_strings_count(some) > 0 && cx_strings_count(some) <= cx_strings_count(all));
    cx_strings_free(some);
    cx_strings_free(all);

    SUCCEEDS(cx_query_label_values(blocks, NULL, "job", 3, &all, &error));
    CHECK(cx_strings_count(all) == 2 && is_text(cx_strings_items(all)[1].data, cx_strings_items(all)[1].len, "db"));
    cx_strings_free(all);
    SUCCEEDS(cx_query_label_values(blocks, &query, "job", 3, &some, &error));
    CHECK(cx_strings_count(some) == 1 && is_text(cx_strings_items(some)->data, cx_strings_items(some)->len, "db"));
    cx_strings_free(some);
    all_series.max_strings = 1;
    SUCCEEDS(cx_query_label_values(blocks, &all_series, "job", 3, &some, &error));
    CHECK(cx_strings_count(some) == 1);
    cx_strings_free(some);
    SUCCEEDS(cx_query_label_values(blocks, &query, "none", 4, &some, &error));
    CHECK(cx_strings_count(some) == 0 && cx_strings_items(some) == NULL);
    cx_strings_free(some);
    cx_selector_free(everything);
    cx_selector_free(db);
}

static void groups(const cx_blocks *blocks) {
    const cx_string names[] = {{"job", 3}, {"none", 4}};
    cx_groups *by_job, *without;
    SUCCEEDS(cx_query_group(blocks, NULL, names, 2, false, &by_job, &error));
    uint64_t total, sum = 0;
    SUCCEEDS(cx_query_count(blocks, NULL, &total, &error));
    for (size_t i = 0; i < cx_groups_count(by_job); i++) {
        const cx_group *group = &cx_groups_items(by_job)[i];
        CHECK(group->label_count <= 1 && group->series_count > 0);
        CHECK(group->label_count == 0 || is_text(group->labels->name, group->labels->name_len, "job"));
        sum += group->series_count;
    }
    CHECK(cx_groups_count(by_job) >= 2 && sum == total);
    SUCCEEDS(cx_query_group(blocks, NULL, NULL, 0, true, &without, &error));
    CHECK(cx_groups_count(without) == total);
    cx_groups_free(by_job);
    cx_groups_free(without);
    SUCCEEDS(cx_query_group(blocks, NULL, NULL, 0, false, &by_job, &error));
    CHECK(cx_groups_count(by_job) == 1 && cx_groups_items(by_job)->labels == NULL);
    CHECK(cx_groups_items(by_job)->series_count == total);
    cx_groups_free(by_job);
}

static void handles_outlive_their_blocks(const char *path) {
    cx_blocks *blocks;
    cx_rows *rows;
    cx_reader *reader;
    cx_strings *names;
    cx_groups *of_jobs;
    const cx_string job = {"job", 3};
    cx_block_info info;
    SUCCEEDS(cx_blocks_read(path, NULL, &blocks, &error));
    SUCCEEDS(cx_blocks_info(blocks, 0, &info, &error));
    SUCCEEDS(cx_query_series(blocks, NULL, CX_ORDER_LABELS, &rows, &error));
    SUCCEEDS(cx_reader_new(blocks, &reader, &error));
    SUCCEEDS(cx_query_label_names(blocks, NULL, &names, &error));
    SUCCEEDS(cx_query_group(blocks, NULL, &job, 1, false, &of_jobs, &error));
    cx_blocks_free(blocks);
    cx_series series;
    uint32_t seen = 0;
    for (;; seen++) {
        SUCCEEDS(cx_rows_next(rows, &series, &error));
        if (series.id_count == 0)
            break;
        CHECK(series.label_count > 0);
        /* In the order of labels, names come first. */
        CHECK(is_text(series.labels->name, series.labels->name_len, seen < 7 ? "__name__" : "job"));
    }
    CHECK(seen == 10);
    const cx_label *labels;
    size_t count;
    cx_series_id first = {info.id, 0};
    SUCCEEDS(cx_reader_labels(reader, first, &labels, &count, &error));
    cx_rows_free(rows);
    CHECK(is_text(labels->name, labels->name_len, "__name__"));
    cx_reader_free(reader);
    CHECK(is_text(cx_strings_items(names)->data, cx_strings_items(names)->len, "__name__"));
    cx_strings_free(names);
    const cx_group *last = &cx_groups_items(of_jobs)[cx_groups_count(of_jobs) - 1];
    CHECK(is_text(last->labels->value, last->labels->value_len, "db"));
    cx_groups_free(of_jobs);
}

static void queries_folders(const char *path, const char *folder) {
    cx_blocks *blocks;
    FAILS(CX_IO, "/no/such/folder", cx_blocks_map("/no/such/folder", NULL, &blocks, &error));
    FAILS(CX_CORRUPT, "broken.cx", cx_blocks_read(folder, NULL, &blocks, &error));
    CHECK(blocks == NULL);
    cx_open_options options = {.checks = CX_CHECKS_EAGER, .skip_damaged = true};
    SUCCEEDS(cx_blocks_read(folder, &options, &blocks, &error));
    cx_blocks_free(blocks);
    options.checks = CX_CHECKS_LAZY;
    SUCCEEDS(cx_blocks_map(folder, &options, &blocks, &error));
    CHECK(cx_blocks_count(blocks) == 2 && cx_failures_count(cx_blocks_damaged(blocks)) == 1);
    cx_error failure;
    CHECK(cx_failures_get(cx_blocks_damaged(blocks), 0, &failure));
    CHECK(failure.status == CX_CORRUPT && strstr(failure.message, "broken.cx") != NULL);
    CHECK(!cx_failures_get(cx_blocks_damaged(blocks), 1, &failure) && !cx_failures_get(NULL, 0, &failure));
    CHECK(!cx_failures_get(cx_blocks_damaged(blocks), 0, NULL));
    cx_blocks *fresh;
    SUCCEEDS(cx_blocks_refresh(blocks, &fresh, &error));
    CHECK(cx_blocks_count(fresh) == 2);
    cx_blocks_free(fresh);

    /* Series of both blocks come once, with an id in each. */
    cx_selector *db = selector("{job=\"db\"}");
    const cx_selector *selectors[] = {db};
    cx_query query = one(selectors);
    cx_failures *damaged;
    SUCCEEDS(cx_failures_new(&damaged, &error));
    query.damaged = damaged;
    cx_rows *rows;
    cx_series series;
    uint64_t seen = 0, counted, in_one;
    for (cx_order order = CX_ORDER_REFS; order <= CX_ORDER_LABELS; order++) {
        SUCCEEDS(cx_query_series(blocks, &query, order, &rows, &error));
        for (seen = 0;; seen++) {
            SUCCEEDS(cx_rows_next(rows, &series, &error));
            if (series.id_count == 0)
                break;
            CHECK(series.id_count <= 2);
        }
        SUCCEEDS(cx_rows_damaged(rows, damaged, &error));
        FAILS(CX_USAGE, "damaged is NULL", cx_rows_damaged(rows, NULL, &error));
        cx_rows_free(rows);
    }
    SUCCEEDS(cx_query_count(blocks, &query, &counted, &error));
    CHECK(seen == counted && cx_failures_count(damaged) == 0);
    cx_failures_free(damaged);
    query.damaged = NULL;
    cx_blocks *alone;
    SUCCEEDS(cx_blocks_read(path, NULL, &alone, &error));
    SUCCEEDS(cx_query_count(alone, &query, &in_one, &error));
    CHECK(in_one == counted);
    finds(blocks, 2);
    cx_blocks_free(alone);

    cx_strings *names, *jobs;
    SUCCEEDS(cx_query_label_names(blocks, NULL, &names, &error));
    SUCCEEDS(cx_query_label_values(blocks, &query, "job", 3, &jobs, &error));
    CHECK(cx_strings_count(names) >= 3 && cx_strings_count(jobs) == 1);
    cx_query limited = {.max_series = 1};
    FAILS(CX_TOO_MANY_SERIES, "more than 1 series",
          cx_query_series(blocks, &limited, CX_ORDER_REFS, &rows, &error));
    /* No block has data of the past, unless its times are unknown. */
    cx_time_range past = {-10, -5};
    query.within = &past;
    uint64_t before;
    SUCCEEDS(cx_query_count(blocks, &query, &before, &error));
    cx_block_info info;
    size_t timed = 0;
    for (size_t i = 0; i < 2; i++) {
        SUCCEEDS(cx_blocks_info(blocks, i, &info, &error));
        timed += info.has_time;
    }
    CHECK((before == 0) == (timed == 2));
    cx_blocks_free(blocks);
    CHECK(is_text(cx_strings_items(jobs)->data, cx_strings_items(jobs)->len, "db"));
    cx_strings_free(jobs);
    cx_strings_free(names);
    cx_selector_free(db);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    CHECK(strchr(cx_version(), '.') != NULL);
    opens(argv[1]);
    refuses_wrong_arguments(argv[1]);
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(argv[1], NULL, &blocks, &error));
    finds(blocks, 1);
    selects(blocks);
    finds(blocks, 1);
    lists_names_and_values(blocks);
    groups(blocks);
    reads_batches(blocks);
    cx_blocks_free(blocks);
    handles_outlive_their_blocks(argv[1]);
    queries_folders(argv[1], argv[2]);
    return 0;
}
