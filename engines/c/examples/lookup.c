/* Prints the labels of one series of a block. Usage: lookup BLOCK REF */
#include <chronoxide.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: lookup BLOCK REF\n");
        return CX_USAGE;
    }
    cx_error error;
    cx_block *block;
    cx_label labels[CX_MAX_LABELS];
    size_t count;
    uint32_t series = (uint32_t)strtoul(argv[2], NULL, 10);
    cx_status status = cx_block_map(argv[1], CX_CHECKS_LAZY, &block, &error);
    if (status == CX_OK)
        status = cx_block_labels(block, series, labels, CX_MAX_LABELS, &count, &error);
    if (status != CX_OK) {
        fprintf(stderr, "lookup: %s\n", error.message);
        cx_block_free(block);
        return status;
    }
    for (size_t i = 0; i < count; i++)
        printf("%.*s=%.*s\n", (int)labels[i].name_len, labels[i].name, (int)labels[i].value_len, labels[i].value);
    cx_block_free(block);
    return 0;
}
