/*
 * Reads all series of a block as streams of Arrow record batches, after its handle was freed.
 * Usage: arrow BLOCK; prints the name and the format of each column.
 */
#include "check.h"

#include <string.h>

static int64_t read_all(struct ArrowArrayStream *stream, int print) {
    struct ArrowSchema schema;
    CHECK(stream->get_schema(stream, &schema) == 0);
    CHECK(strcmp(schema.format, "+s") == 0);
    for (int64_t i = 0; i < schema.n_children && print; i++) {
        const struct ArrowSchema *column = schema.children[i];
        printf("%s %s%s%s\n", column->name, column->format, column->dictionary ? " of " : "",
               column->dictionary ? column->dictionary->format : "");
    }
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray batch;
        CHECK(stream->get_next(stream, &batch) == 0);
        if (batch.release == NULL)
            break;
        CHECK(batch.n_children == schema.n_children);
        for (int64_t i = 0; i < batch.n_children; i++) {
            CHECK(batch.children[i]->length == batch.length);
            CHECK((batch.children[i]->dictionary != NULL) == (schema.children[i]->dictionary != NULL));
        }
        if (strcmp(schema.children[0]->name, "series_ref") == 0) {
            const uint64_t *refs = batch.children[0]->buffers[1];
            CHECK(batch.length == 0 || refs[batch.children[0]->offset] == (uint64_t)rows);
        }
        rows += batch.length;
        batch.release(&batch);
    }
    schema.release(&schema);
    stream->release(stream);
    return rows;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    cx_blocks *blocks;
    SUCCEEDS(cx_blocks_map(argv[1], NULL, &blocks, &error));
    uint64_t count;
    SUCCEEDS(cx_query_count(blocks, NULL, &count, &error));
    struct ArrowArrayStream columns, map, some, ids, stream;
    SUCCEEDS(cx_query_arrow_stream(blocks, NULL, NULL, &columns, &error));
    const cx_arrow_options as_map = {.as_map = true, .batch_size = 3};
    SUCCEEDS(cx_query_arrow_stream(blocks, NULL, &as_map, &map, &error));
    const cx_string names[] = {{"job", 3}, {"no such label", 13}};
    const cx_arrow_options chosen = {
        .labels = names, .label_count = 2, .without_dictionaries = true, .max_series = 2};
    SUCCEEDS(cx_query_arrow_stream(blocks, NULL, &chosen, &some, &error));
    const cx_arrow_options with_ids = {.as_map = true, .block_ids = true};
    SUCCEEDS(cx_query_arrow_stream(blocks, NULL, &with_ids, &ids, &error));

    FAILS(CX_USAGE, "blocks", cx_query_arrow_stream(NULL, NULL, NULL, &stream, &error));
    CHECK(stream.release == NULL);
    FAILS(CX_USAGE, "stream", cx_query_arrow_stream(blocks, NULL, NULL, NULL, &error));
    const cx_arrow_options wrong_order = {.order = 9};
    FAILS(CX_USAGE, "order", cx_query_arrow_stream(blocks, NULL, &wrong_order, &stream, &error));
    const cx_string twice[] = {{"job", 3}, {"job", 3}};
    const cx_arrow_options repeated = {.labels = twice, .label_count = 2};
    FAILS(CX_USAGE, "job", cx_query_arrow_stream(blocks, NULL, &repeated, &stream, &error));
    CHECK(stream.release == NULL);

    cx_blocks_free(blocks);
    CHECK(read_all(&columns, 1) == (int64_t)count);
    CHECK(read_all(&map, 0) == (int64_t)count);
    CHECK(read_all(&some, 1) == (int64_t)(count < 2 ? count : 2));
    CHECK(read_all(&ids, 1) == (int64_t)count);
    return 0;
}
