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
    cx_blocks *blocks = NULL;
    cx_reader *reader = NULL;
    cx_block_info block;
    const cx_label *labels;
    size_t count = 0;
    cx_status status = cx_blocks_map(argv[1], NULL, &blocks, &error);
    if (status == CX_OK)
        status = cx_blocks_info(blocks, 0, &block, &error);
    if (status == CX_OK)
        status = cx_reader_new(blocks, &reader, &error);
    if (status == CX_OK) {
        cx_series_id id = {block.id, (uint32_t)strtoul(argv[2], NULL, 10)};
        status = cx_reader_labels(reader, id, &labels, &count, &error);
    }
    if (status != CX_OK)
        fprintf(stderr, "lookup: %s\n", error.message);
    for (size_t i = 0; i < count; i++)
        printf("%.*s=%.*s\n", (int)labels[i].name_len, labels[i].name, (int)labels[i].value_len, labels[i].value);
    cx_reader_free(reader);
    cx_blocks_free(blocks);
    return status;
}
