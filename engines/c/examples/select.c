/* Prints the series of a block that a PromQL selector selects, in the order of labels. Usage: select BLOCK SELECTOR */
#include <chronoxide.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: select BLOCK SELECTOR\n");
        return CX_USAGE;
    }
    cx_error error;
    cx_block *block = NULL;
    cx_selector *selector = NULL;
    cx_selection *selection = NULL;
    cx_cursor *cursor = NULL;
    cx_limits limits = {.max_series = 1000000, .timeout_ms = 10000};
    cx_status status = cx_block_map(argv[1], CX_CHECKS_LAZY, &block, &error);
    if (status == CX_OK)
        status = cx_selector_parse(argv[2], strlen(argv[2]), &selector, &error);
    if (status == CX_OK)
        status = cx_block_select(block, selector, &limits, &selection, &error);
    if (status == CX_OK)
        status = cx_selection_cursor(selection, CX_ORDER_LABELS, &limits, &cursor, &error);
    while (status == CX_OK) {
        uint32_t series;
        const cx_label *labels;
        size_t count;
        status = cx_cursor_next(cursor, &series, &labels, &count, &error);
        if (status != CX_OK || series == CX_NO_SERIES)
            break;
        printf("%u", series);
        for (size_t i = 0; i < count; i++)
            printf(" %.*s=%.*s", (int)labels[i].name_len, labels[i].name, (int)labels[i].value_len, labels[i].value);
        putchar('\n');
    }
    if (status != CX_OK)
        fprintf(stderr, "select: %s\n", error.message);
    cx_cursor_free(cursor);
    cx_selection_free(selection);
    cx_selector_free(selector);
    cx_block_free(block);
    return status;
}
