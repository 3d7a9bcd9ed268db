/*
 * Calls every function, with right and with wrong arguments. The block is testdata/golden/plain-bitpacked.cx, the
 * folder is empty but for a copy of it and a file that is not a block.
 * Usage: api BLOCK FOLDER
 */
#include "check.h"

static void opens(const char *path) {
    cx_block *block;
    char id[CX_BLOCK_ID_LEN], same[CX_BLOCK_ID_LEN];
    for (cx_checks checks = CX_CHECKS_LAZY; checks <= CX_CHECKS_NEVER; checks++) {
        SUCCEEDS(cx_block_map(path, checks, &block, &error));
        SUCCEEDS(cx_block_verify(block, &error));
        SUCCEEDS(cx_block_id(block, id, sizeof id, &error));
        cx_block_free(block);
        SUCCEEDS(cx_block_read(path, checks, &block, &error));
        SUCCEEDS(cx_block_id(block, same, sizeof same, &error));
        CHECK(strlen(id) == CX_BLOCK_ID_LEN - 1 && strcmp(id, same) == 0);
        cx_block_free(block);
    }
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    static uint8_t bytes[1 << 16];
    size_t len = fread(bytes, 1, sizeof bytes, file);
    CHECK(feof(file));
    fclose(file);
    SUCCEEDS(cx_block_from_bytes(bytes, len, CX_CHECKS_EAGER, &block, &error));
    memset(bytes, 0, sizeof bytes);
    SUCCEEDS(cx_block_verify(block, &error));
    cx_time_range range;
    bool is_known;
    SUCCEEDS(cx_block_time_range(block, &range, &is_known, &error));
    CHECK(is_known || (range.start == 0 && range.end == 0));
    FAILS(CX_TOO_SMALL, "27", cx_block_id(block, id, 26, &error));
    cx_block_free(block);
    FAILS(CX_CORRUPT, "magic", cx_block_from_bytes(bytes, len, CX_CHECKS_LAZY, &block, &error));
    CHECK(block == NULL);
    FAILS(CX_CORRUPT, "", cx_block_from_bytes(NULL, 0, CX_CHECKS_LAZY, &block, &error));
}

static void refuses_wrong_arguments(const char *path) {
    cx_block *block, *closed = NULL;
    FAILS(CX_IO, "/no/such/file.cx: ", cx_block_map("/no/such/file.cx", CX_CHECKS_LAZY, &closed, &error));
    CHECK(closed == NULL);
    FAILS(CX_IO, "/", cx_block_read("/", CX_CHECKS_LAZY, &closed, &error));
    FAILS(CX_USAGE, "path is NULL", cx_block_map(NULL, CX_CHECKS_LAZY, &closed, &error));
    FAILS(CX_USAGE, "block is NULL", cx_block_read(path, CX_CHECKS_LAZY, NULL, &error));
    FAILS(CX_USAGE, "checks: 3", cx_block_read(path, 3, &closed, &error));
    FAILS(CX_USAGE, "bytes is NULL", cx_block_from_bytes(NULL, 8, CX_CHECKS_LAZY, &closed, &error));
    CHECK(cx_block_read(path, -1, &closed, NULL) == CX_USAGE);
    SUCCEEDS(cx_block_read(path, CX_CHECKS_LAZY, &block, &error));

    cx_label labels[8];
    size_t count;
    uint32_t series;
    cx_selector *selector;
    cx_selection *selection;
    cx_cursor *cursor;
    cx_resolver *resolver;
    cx_strings *strings;
    FAILS(CX_USAGE, "block is NULL", cx_block_labels(NULL, 0, labels, 8, &count, &error));
    FAILS(CX_USAGE, "labels is NULL", cx_block_labels(block, 0, NULL, 8, &count, &error));
    FAILS(CX_USAGE, "no array", cx_block_labels(block, 0, labels, SIZE_MAX, &count, &error));
    FAILS(CX_USAGE, "count is NULL", cx_block_labels(block, 0, labels, 8, NULL, &error));
    FAILS(CX_USAGE, "labels is NULL", cx_block_find(block, NULL, 1, &series, &error));
    labels[0] = label("job", "db");
    labels[0].value_len = SIZE_MAX;
    FAILS(CX_USAGE, "label value", cx_block_find(block, labels, 1, &series, &error));
    labels[0].value_len = 2;
    labels[1] = labels[0];
    FAILS(CX_USAGE, "same name", cx_block_find(block, labels, 2, &series, &error));
    FAILS(CX_USAGE, "selector text", cx_selector_parse("{a=\"\xff\"}", 8, &selector, &error));
    CHECK(selector == NULL);
    FAILS(CX_USAGE, "selector", cx_selector_parse("up{", 3, &selector, &error));
    FAILS(CX_USAGE, "function", cx_selector_parse("rate(up[5m])", 12, &selector, &error));
    cx_matcher matcher = {"pod", 3, 4, "(", 1};
    FAILS(CX_USAGE, "CX_OPERATOR", cx_selector_new(&matcher, 1, &selector, &error));
    matcher.op = CX_OPERATOR_MATCHES;
    FAILS(CX_USAGE, "matcher of pod", cx_selector_new(&matcher, 1, &selector, &error));
    matcher.name_len = 0;
    FAILS(CX_USAGE, "name is empty", cx_selector_new(&matcher, 1, &selector, &error));
    FAILS(CX_USAGE, "matchers is NULL", cx_selector_new(NULL, 1, &selector, &error));
    FAILS(CX_USAGE, "selection is NULL", cx_block_select(block, NULL, NULL, NULL, &error));
    FAILS(CX_USAGE, "block is NULL", cx_block_select(NULL, NULL, NULL, &selection, &error));
    CHECK(selection == NULL);
    FAILS(CX_USAGE, "selection is NULL", cx_selection_cursor(NULL, CX_ORDER_REFS, NULL, &cursor, &error));
    FAILS(CX_USAGE, "cursor is NULL", cx_cursor_next(NULL, &series, NULL, NULL, &error));
    FAILS(CX_USAGE, "resolver is NULL", cx_resolver_new(block, NULL, &error));
    FAILS(CX_USAGE, "block is NULL", cx_resolver_new(NULL, &resolver, &error));
    FAILS(CX_USAGE, "name is NULL", cx_block_label_values(block, NULL, 3, NULL, 0, NULL, &strings, &error));
    CHECK(strings == NULL);
    SUCCEEDS(cx_block_select(block, NULL, NULL, &selection, &error));
    FAILS(CX_USAGE, "order: 2", cx_selection_cursor(selection, 2, NULL, &cursor, &error));
    SUCCEEDS(cx_selection_cursor(selection, CX_ORDER_REFS, NULL, &cursor, &error));
    FAILS(CX_USAGE, "count is NULL", cx_cursor_next(cursor, &series, (const cx_label **)&strings, NULL, &error));
    FAILS(CX_USAGE, "refs is NULL", cx_selection_refs(selection, 0, NULL, 1, &count, &error));

    CHECK(cx_selection_count(NULL) == 0 && !cx_selection_contains(NULL, 0) && cx_selection_ranges(NULL) == NULL);
    CHECK(cx_selection_range_count(NULL) == 0 && cx_strings_count(NULL) == 0 && cx_strings_items(NULL) == NULL);
    CHECK(cx_failures_count(NULL) == 0 && cx_strings_failures(NULL) == NULL && cx_set_unreadable(NULL) == NULL);
    CHECK(cx_set_block(NULL, 0) == NULL && cx_set_block_count(NULL) == 0);
    CHECK(cx_set_selection_count(NULL) == 0 && cx_set_selection_part_count(NULL) == 0);
    CHECK(cx_set_selection_part(NULL, 0, NULL) == NULL && cx_set_selection_failures(NULL) == NULL);
    cx_block_free(NULL), cx_selector_free(NULL), cx_selection_free(NULL), cx_cursor_free(NULL);
    cx_resolver_free(NULL), cx_strings_free(NULL), cx_cancel_free(NULL), cx_cancel_set(NULL);
    cx_set_free(NULL), cx_set_selection_free(NULL);
    cx_cursor_free(cursor);
    cx_selection_free(selection);
    cx_block_free(block);
}

static void finds(const cx_block *block) {
    cx_label labels[] = {label("pod", "db-1"), label("job", "db"), label("env", ""), label("__name__", "up")};
    uint32_t series;
    SUCCEEDS(cx_block_find(block, labels, 4, &series, &error));
    CHECK(series != CX_NO_SERIES);
    cx_label found[8];
    size_t count;
    SUCCEEDS(cx_block_labels(block, series, found, 8, &count, &error));
    CHECK(count == 3 && is_text(found[2].name, found[2].name_len, "pod"));
    CHECK(is_text(found[2].value, found[2].value_len, "db-1"));
    SUCCEEDS(cx_block_find(block, labels, 2, &series, &error));
    CHECK(series == CX_NO_SERIES);
    SUCCEEDS(cx_block_find(block, NULL, 0, &series, &error));
    CHECK(series == CX_NO_SERIES);
}

static void selects(const cx_block *block) {
    cx_selector *pods = selector("up{pod!=\"\"}");
    cx_matcher matchers[] = {{"__name__", 8, CX_OPERATOR_EQUAL, "up", 2}, {"pod", 3, CX_OPERATOR_MATCHES, ".+", 2}};
    cx_selector *same;
    SUCCEEDS(cx_selector_new(matchers, 2, &same, &error));
    cx_selection *selection, *other;
    SUCCEEDS(cx_block_select(block, pods, NULL, &selection, &error));
    SUCCEEDS(cx_block_select(block, same, NULL, &other, &error));
    uint32_t total = cx_selection_count(selection);
    CHECK(total > 1 && cx_selection_count(other) == total);
    uint64_t counted;
    SUCCEEDS(cx_block_count(block, pods, NULL, &counted, &error));
    CHECK(counted == total);

    /* In chunks of one ref, of ranges, and by a cursor. */
    uint32_t next = 0, seen = 0, ref;
    size_t count;
    cx_cursor *cursor;
    SUCCEEDS(cx_selection_cursor(selection, CX_ORDER_REFS, NULL, &cursor, &error));
    for (;;) {
        uint32_t chunk;
        SUCCEEDS(cx_selection_refs(selection, next, &chunk, 1, &count, &error));
        SUCCEEDS(cx_cursor_next(cursor, &ref, NULL, NULL, &error));
        if (count == 0)
            break;
        CHECK(ref == chunk && cx_selection_contains(selection, chunk) && cx_selection_contains(other, chunk));
        next = chunk + 1;
        seen++;
    }
    CHECK(seen == total && ref == CX_NO_SERIES);
    cx_cursor_free(cursor);
    uint32_t refs[64], in_ranges = 0;
    SUCCEEDS(cx_selection_refs(selection, 0, refs, 64, &count, &error));
    CHECK(count == total);
    for (size_t i = 0; i < cx_selection_range_count(selection); i++)
        in_ranges += cx_selection_ranges(selection)[i].end - cx_selection_ranges(selection)[i].start;
    CHECK(in_ranges == total);

    cx_selection_free(other);

    /* Limits. */
    cx_limits limits = {.max_series = total - 1};
    FAILS(CX_TOO_MANY_SERIES, "more than", cx_block_select(block, pods, &limits, &other, &error));
    CHECK(other == NULL);
    limits = (cx_limits){.max_memory = 7};
    FAILS(CX_OUT_OF_RESOURCES, "memory limit", cx_block_select(block, pods, &limits, &other, &error));
    cx_cancel *cancel;
    SUCCEEDS(cx_cancel_new(&cancel, &error));
    limits = (cx_limits){.timeout_ms = 60000, .cancel = cancel};
    SUCCEEDS(cx_block_count(block, pods, &limits, &counted, &error));
    /* The cursor keeps what it was made from. */
    SUCCEEDS(cx_selection_cursor(selection, CX_ORDER_LABELS, &limits, &cursor, &error));
    cx_cancel_set(cancel);
    FAILS(CX_CANCELLED, "cancelled", cx_block_count(block, pods, &limits, &counted, &error));
    cx_cancel_free(cancel);
    FAILS(CX_CANCELLED, "cancelled", cx_cursor_next(cursor, &ref, NULL, NULL, &error));
    cx_cursor_free(cursor);
    cx_selection_free(selection);
    cx_selector_free(pods);
    cx_selector_free(same);
}

static void lists_names_and_values(const cx_block *block) {
    cx_selector *db = selector("{job=\"db\"}"), *everything = selector("{}");
    cx_strings *all, *some;
    SUCCEEDS(cx_block_label_names(block, NULL, NULL, &all, &error));
    SUCCEEDS(cx_block_label_names(block, everything, NULL, &some, &error));
    CHECK(cx_strings_count(all) >= 3 && cx_strings_count(all) == cx_strings_count(some));
    CHECK(is_text(cx_strings_items(all)[0].data, cx_strings_items(all)[0].len, "__name__"));
    cx_strings_free(some);
    SUCCEEDS(cx_block_label_names(block, db, NULL, &some, &error));
    CHECK(cx_strings_count(some) > 0 && cx_strings_count(some) <= cx_strings_count(all));
    CHECK(cx_failures_count(cx_strings_failures(some)) == 0);
    cx_strings_free(some);
    cx_strings_free(all);

    SUCCEEDS(cx_block_label_values(block, "job", 3, NULL, 0, NULL, &all, &error));
    CHECK(cx_strings_count(all) == 2 && is_text(cx_strings_items(all)[1].data, cx_strings_items(all)[1].len, "db"));
    cx_strings_free(all);
    SUCCEEDS(cx_block_label_values(block, "job", 3, db, 0, NULL, &some, &error));
    CHECK(cx_strings_count(some) == 1 && is_text(cx_strings_items(some)->data, cx_strings_items(some)->len, "db"));
    cx_strings_free(some);
    SUCCEEDS(cx_block_label_values(block, "job", 3, NULL, 1, NULL, &some, &error));
    CHECK(cx_strings_count(some) == 1);
    cx_strings_free(some);
    SUCCEEDS(cx_block_label_values(block, "none", 4, db, 0, NULL, &some, &error));
    CHECK(cx_strings_count(some) == 0 && cx_strings_items(some) == NULL);
    cx_strings_free(some);
    cx_selector_free(everything);
    cx_selector_free(db);
}

static void handles_outlive_their_block(const char *path) {
    cx_block *block;
    cx_selection *selection;
    cx_cursor *cursor;
    cx_resolver *resolver;
    cx_strings *names;
    SUCCEEDS(cx_block_read(path, CX_CHECKS_LAZY, &block, &error));
    SUCCEEDS(cx_block_select(block, NULL, NULL, &selection, &error));
    SUCCEEDS(cx_resolver_new(block, &resolver, &error));
    SUCCEEDS(cx_block_label_names(block, NULL, NULL, &names, &error));
    cx_block_free(block);
    SUCCEEDS(cx_selection_cursor(selection, CX_ORDER_LABELS, NULL, &cursor, &error));
    cx_selection_free(selection);
    const cx_label *labels;
    size_t count;
    uint32_t series, seen = 0;
    for (;; seen++) {
        SUCCEEDS(cx_cursor_next(cursor, &series, &labels, &count, &error));
        if (series == CX_NO_SERIES)
            break;
        CHECK(count > 0);
        /* In the order of labels, names come first. */
        CHECK(is_text(labels->name, labels->name_len, seen < 7 ? "__name__" : "job"));
    }
    CHECK(seen == 10);
    SUCCEEDS(cx_resolver_labels(resolver, 0, &labels, &count, &error));
    cx_cursor_free(cursor);
    CHECK(is_text(labels->name, labels->name_len, "__name__"));
    cx_resolver_free(resolver);
    CHECK(is_text(cx_strings_items(names)->data, cx_strings_items(names)->len, "__name__"));
    cx_strings_free(names);
}

static void queries_folders(const char *path, const char *folder) {
    cx_set *set;
    FAILS(CX_IO, "/no/such/folder", cx_set_map("/no/such/folder", CX_CHECKS_LAZY, &set, &error));
    CHECK(set == NULL);
    FAILS(CX_USAGE, "folder is NULL", cx_set_read(NULL, CX_CHECKS_LAZY, &set, &error));
    SUCCEEDS(cx_set_read(folder, CX_CHECKS_EAGER, &set, &error));
    cx_set_free(set);
    SUCCEEDS(cx_set_map(folder, CX_CHECKS_LAZY, &set, &error));
    CHECK(cx_set_block_count(set) == 1 && cx_set_block(set, 1) == NULL);
    CHECK(cx_failures_count(cx_set_unreadable(set)) == 1);
    cx_error failure;
    CHECK(cx_failures_get(cx_set_unreadable(set), 0, &failure));
    CHECK(failure.status == CX_CORRUPT && strstr(failure.message, "broken.cx") != NULL);
    CHECK(!cx_failures_get(cx_set_unreadable(set), 1, &failure) && !cx_failures_get(NULL, 0, &failure));
    CHECK(!cx_failures_get(cx_set_unreadable(set), 0, NULL));

    cx_selector *db = selector("{job=\"db\"}");
    cx_set_selection *selected;
    SUCCEEDS(cx_set_select(set, db, NULL, NULL, &selected, &error));
    CHECK(cx_set_selection_part_count(selected) == 1 && cx_failures_count(cx_set_selection_failures(selected)) == 0);
    size_t position = 9;
    const cx_selection *part = cx_set_selection_part(selected, 0, &position);
    CHECK(part != NULL && position == 0 && cx_selection_count(part) == cx_set_selection_count(selected));
    CHECK(cx_set_selection_part(selected, 1, &position) == NULL);

    /* The block of the set, and the same one opened alone. */
    cx_block *alone;
    SUCCEEDS(cx_block_read(path, CX_CHECKS_LAZY, &alone, &error));
    uint64_t in_set, in_block;
    SUCCEEDS(cx_block_count(cx_set_block(set, 0), db, NULL, &in_set, &error));
    SUCCEEDS(cx_block_count(alone, db, NULL, &in_block, &error));
    CHECK(in_set == in_block && in_set == cx_set_selection_count(selected));
    finds(cx_set_block(set, 0));
    cx_block_free(alone);

    cx_strings *names, *jobs;
    SUCCEEDS(cx_set_label_names(set, NULL, NULL, NULL, &names, &error));
    SUCCEEDS(cx_set_label_values(set, "job", 3, db, NULL, 0, NULL, &jobs, &error));
    CHECK(cx_strings_count(names) >= 3 && cx_strings_count(jobs) == 1);
    cx_limits limits = {.max_series = 1};
    cx_set_selection_free(selected);
    FAILS(CX_TOO_MANY_SERIES, "more than 1 series", cx_set_select(set, NULL, NULL, &limits, &selected, &error));
    cx_time_range past = {-10, -5};
    bool is_known;
    cx_time_range range;
    SUCCEEDS(cx_block_time_range(cx_set_block(set, 0), &range, &is_known, &error));
    SUCCEEDS(cx_set_select(set, db, &past, NULL, &selected, &error));
    CHECK((cx_set_selection_part_count(selected) == 0) == is_known);
    cx_set_selection_free(selected);
    cx_set_free(set);
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
    cx_block *block;
    SUCCEEDS(cx_block_map(argv[1], CX_CHECKS_LAZY, &block, &error));
    finds(block);
    selects(block);
    finds(block);
    lists_names_and_values(block);
    cx_block_free(block);
    handles_outlive_their_block(argv[1]);
    queries_folders(argv[1], argv[2]);
    return 0;
}
