/*
 * Prints the series of a block, or of a folder of blocks, that a PromQL selector selects, in the order of labels.
 * Usage: select PATH SELECTOR
 */
#include <chronoxide.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: select PATH SELECTOR\n");
        return CX_USAGE;
    }
    cx_error error;
    cx_blocks *blocks = NULL;
    cx_selector *selector = NULL;
    cx_rows *rows = NULL;
    cx_series series;
    cx_status status = cx_blocks_map(argv[1], NULL, &blocks, &error);
    if (status == CX_OK)
        status = cx_selector_parse(argv[2], strlen(argv[2]), &selector, &error);
    if (status == CX_OK) {
        const cx_selector *selectors[] = {selector};
        cx_query query = {.selectors = selectors, .selector_count = 1, .max_series = 1000000, .timeout_ms = 10000};
        status = cx_query_series(blocks, &query, CX_ORDER_LABELS, &rows, &error);
    }
    while (status == CX_OK) {
        status = cx_rows_next(rows, &series, &error);
        if (status != CX_OK || series.id_count == 0)
            break;
        printf("%u", series.ids[0].series);
        for (size_t i = 0; i < series.label_count; i++) {
            const cx_label label = series.labels[i];
            printf(" %.*s=%.*s", (int)label.name_len, label.name, (int)label.value_len, label.value);
        }
        putchar('\n');
    }
    if (status != CX_OK)
        fprintf(stderr, "select: %s\n", error.message);
    cx_rows_free(rows);
    cx_selector_free(selector);
    cx_blocks_free(blocks);
    return status;
}
