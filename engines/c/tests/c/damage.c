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

static unsigned read_all(const cx_block *block, const char *path) {
    /* A damaged block may claim billions of series. */
    enum { MOST = 2000 };
    static cx_label labels[CX_MAX_LABELS];
    cx_error error;
    uint32_t series_count = 0, found;
    unsigned all = 0;
    damaged(cx_block_series_count(block, &series_count, &error), &error, path);
    cx_resolver *resolver;
    damaged(cx_resolver_new(block, &resolver, &error), &error, path);
    for (uint32_t series = 0; series < series_count && series < MOST; series++) {
        size_t count = 0;
        const cx_label *others;
        cx_status status = cx_block_labels(block, series, labels, CX_MAX_LABELS, &count, &error);
        damaged(status, &error, path);
        if (status == CX_OK) {
            all += read_labels(labels, count);
            status = cx_block_find(block, labels, count, &found, &error);
            /* Labels of damaged keys may have one name. */
            if (status != CX_USAGE)
                damaged(status, &error, path);
        }
        status = cx_resolver_labels(resolver, series, &others, &count, &error);
        damaged(status, &error, path);
        if (status == CX_OK)
            all += read_labels(others, count);
    }
    cx_resolver_free(resolver);

    static const char *const texts[] = {"{}", "{job=\"api\"}", "{job!=\"\"}", "{__name__=~\".+\",pod!~\"a.*\"}"};
    cx_limits limits = {.max_series = 1000000, .timeout_ms = 10000};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cx_selector *chosen = selector(texts[i]);
        cx_selection *selection;
        cx_strings *strings;
        uint64_t count;
        damaged(cx_block_count(block, chosen, &limits, &count, &error), &error, path);
        cx_status status = cx_block_select(block, chosen, &limits, &selection, &error);
        if (status != CX_TOO_MANY_SERIES)
            damaged(status, &error, path);
        for (cx_order order = CX_ORDER_REFS; status == CX_OK && order <= CX_ORDER_LABELS; order++) {
            cx_cursor *cursor;
            if (cx_selection_cursor(selection, order, &limits, &cursor, &error) != CX_OK)
                continue;
            for (int steps = 0; steps < MOST; steps++) {
                const cx_label *walked;
                size_t walked_count;
                cx_status step = cx_cursor_next(cursor, &found, &walked, &walked_count, &error);
                damaged(step, &error, path);
                if (found == CX_NO_SERIES)
                    break;
                all += read_labels(walked, walked_count);
            }
            cx_cursor_free(cursor);
        }
        for (int as_map = 0; status == CX_OK && as_map <= 1; as_map++) {
            const cx_arrow_options options = {.as_map = as_map != 0, .max_series = MOST};
            struct ArrowArrayStream stream;
            if (cx_selection_arrow_stream(selection, &options, &stream, &error) != CX_OK)
                continue;
            struct ArrowArray batch;
            while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
                all += (unsigned)batch.length;
                batch.release(&batch);
            }
            stream.release(&stream);
        }
        cx_selection_free(selection);
        damaged(cx_block_label_names(block, chosen, &limits, &strings, &error), &error, path);
        all += read_strings(strings);
        cx_strings_free(strings);
        damaged(cx_block_label_values(block, "job", 3, chosen, 0, &limits, &strings, &error), &error, path);
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
        cx_block *block;
        cx_status status = cx_block_map(path, CX_CHECKS_EAGER, &block, &error);
        if (status == CX_OK)
            status = cx_block_verify(block, &error);
        /* The message names the file. */
        if ((expected == -1 ? status == CX_OK : status != expected) ||
            (status != CX_OK && strncmp(error.message, path, strlen(path)) != 0)) {
            fprintf(stderr, "%s: %d %s, expected %d\n", path, (int)status, error.message, expected);
            return 1;
        }
        cx_block_free(block);
        for (cx_checks checks = CX_CHECKS_LAZY; checks <= CX_CHECKS_NEVER; checks += 2) {
            status = cx_block_read(path, checks, &block, &error);
            damaged(status, &error, path);
            if (status == CX_OK)
                all += read_all(block, path);
            cx_block_free(block);
        }
    }
    printf("%d blocks, %lu errors, sum %u\n", argc / 2, errors, all);
    return 0;
}
