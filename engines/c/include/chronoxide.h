/*
 * Chronoxide: blocks of labelsets of time series, read in place.
 *
 * Generated from engines/c/src by cbindgen: change that, and see README.md there.
 *
 * Statuses. Calls that can fail return a cx_status: CX_OK, or the code of an error. They write code and message to
 * the caller's cx_error, which may be NULL. A search without result is not an error. There is no error state per
 * thread or process.
 *
 * Pointers. Each pointer is NULL or valid for its type. A handle comes from this library, and is freed once, by the
 * function of its type. Outputs may be uninitialized; no two arguments that a call writes to may overlap. NULL gives
 * CX_USAGE where a value is needed. If a call fails, the handle that it should make is NULL.
 *
 * Lifetimes. Labels, strings and bytes point into blocks: they are valid as long as the handle of the blocks, or
 * anything that was made from it: a reader, rows, groups, a column, a list of strings. Handles keep what they were made
 * from, in any order of release.
 *
 * Threads. Handles may be passed between threads. Any number of threads may use one handle at once, except that a
 * reader and rows serve one thread at a time, and that nothing may use a handle while it is freed. Calls need up to
 * 512 KiB of stack.
 *
 * Text. Names, values and selectors are bytes with a length, without a NUL. Paths end with a NUL. Label names and
 * values are UTF-8: a block with other bytes is corrupt.
 */


#ifndef CHRONOXIDE_H
#define CHRONOXIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* The Arrow C data and stream interfaces, as https://arrow.apache.org/docs/format/CStreamInterface.html declares them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif


/**
 * Bytes of a message, with the NUL at its end.
 */
#define CX_ERROR_MESSAGE_LEN 1020

/**
 * A block, or the live blocks of a folder, as they were when it was opened: a snapshot. It does not change: several
 * threads may use one handle at once.
 *
 * Blocks of a folder are its files whose names end in `.cx` and do not begin with a dot. The live ones are those that
 * no finished compaction replaced, so that each series counts once.
 */
typedef struct cx_blocks cx_blocks;

/**
 * A flag that one thread sets to cancel the queries of others.
 */
typedef struct cx_cancel cx_cancel;

/**
 * A column of blocks. It does not change: several threads may use one handle at once.
 */
typedef struct cx_column cx_column;

/**
 * Facts about the columns of blocks, in the byte order of their names. It does not change: several threads may use one
 * handle at once.
 */
typedef struct cx_columns cx_columns;

/**
 * Errors of single blocks, whose part of a result is missing. Several threads may use one handle at once.
 */
typedef struct cx_failures cx_failures;

/**
 * Selected series in groups, in the order of their labels. It does not change: several threads may use one handle at
 * once.
 */
typedef struct cx_groups cx_groups;

/**
 * Reads the labels of series, and keeps what neighbours share. One thread at a time may use it: a second one gets
 * CX_USAGE. It stays valid after its blocks are freed.
 */
typedef struct cx_reader cx_reader;

/**
 * Selected series, to be read one by one. A series that several blocks have comes once. One thread at a time may use
 * it: a second one gets CX_USAGE. It stays valid after its blocks are freed.
 */
typedef struct cx_rows cx_rows;

/**
 * Ids of selected series, as ranges, in the order of blocks and positions. It does not change: several threads may use
 * one handle at once.
 */
typedef struct cx_selection cx_selection;

/**
 * Matchers, with compiled regular expressions. It does not change: several threads may use one handle at once.
 */
typedef struct cx_selector cx_selector;

/**
 * Names or values of labels, distinct and in the order of their bytes. It does not change: several threads may use one
 * handle at once.
 */
typedef struct cx_strings cx_strings;

/**
 * Result of a call: CX_OK, or the code of an error. Codes 0 to 4 are also the exit codes of the commands.
 */
typedef int32_t cx_status;

/**
 * Code and message of a failed call.
 *
 * It belongs to the caller and needs neither initialization nor release. A call that fails writes it, a call that
 * succeeds does not. Calls accept NULL instead.
 */
typedef struct cx_error {
    /**
     * The status that the call returned.
     */
    cx_status status;
    /**
     * One line of UTF-8 with the file, the place and the reason, ended by a NUL. The middle of a long message is left
     * out.
     */
    char message[CX_ERROR_MESSAGE_LEN];
} cx_error;

/**
 * When the checksums of a block are checked: one of CX_CHECKS_.... Header and directory always are, when it is
 * opened.
 */
typedef int32_t cx_checks;

/**
 * How blocks are opened. Calls accept NULL, and a struct of zeros, for all defaults.
 */
typedef struct cx_open_options {
    /**
     * When checksums are checked: one of CX_CHECKS_....
     */
    cx_checks checks;
    /**
     * True to leave out the files of a folder that are not valid blocks, and to list them in cx_blocks_damaged.
     */
    bool skip_damaged;
    /**
     * Maximum memory of the decoded strings of archives in bytes, or 0 for 4 GiB.
     */
    uint64_t max_archive_memory;
} cx_open_options;

/**
 * Id of a block.
 */
typedef struct cx_block_id {
    /**
     * The id as it stands in the header of the block: its order is that of the bytes.
     */
    uint8_t bytes[16];
} cx_block_id;

/**
 * A string without a NUL at its end.
 */
typedef struct cx_string {
    /**
     * First byte.
     */
    const char *data;
    /**
     * Length in bytes.
     */
    size_t len;
} cx_string;

/**
 * A half-open range of times, in nanoseconds since 1970-01-01T00:00:00Z.
 */
typedef struct cx_time_range {
    /**
     * First time of the range.
     */
    int64_t start;
    /**
     * First time after the range.
     */
    int64_t end;
} cx_time_range;

/**
 * Facts about a block. The path is valid as long as the blocks.
 */
typedef struct cx_block_info {
    /**
     * Id of the block: blocks with equal ids have equal content.
     */
    struct cx_block_id id;
    /**
     * Path of its file; empty for a block from bytes, or if it is not UTF-8.
     */
    struct cx_string path;
    /**
     * Number of its series.
     */
    uint32_t series_count;
    /**
     * False if the time range of its data is unknown: then `time` is 0 to 0.
     */
    bool has_time;
    /**
     * Time range of its data.
     */
    struct cx_time_range time;
} cx_block_info;

/**
 * A label. Names and values have no NUL at their end.
 *
 * Labels that a call returns point into a block: they are valid until the last handle of its blocks is freed.
 */
typedef struct cx_label {
    /**
     * First byte of the name.
     */
    const char *name;
    /**
     * Length of the name in bytes.
     */
    size_t name_len;
    /**
     * First byte of the value.
     */
    const char *value;
    /**
     * Length of the value in bytes.
     */
    size_t value_len;
} cx_label;

/**
 * Id of a series: an engine remembers what it knows of a series by it. It stays valid as long as the block exists.
 */
typedef struct cx_series_id {
    /**
     * Id of the block.
     */
    struct cx_block_id block;
    /**
     * Position of the series in the block: from 0 to its number of series, without gaps.
     */
    uint32_t series;
} cx_series_id;

/**
 * Type of the values of a column: one of CX_VALUE_....
 */
typedef int32_t cx_value_type;

/**
 * Way to combine the values of series that a merge makes one: one of CX_MERGE_....
 */
typedef int32_t cx_merge;

/**
 * Facts about a column. The name is valid as long as the blocks.
 */
typedef struct cx_column_info {
    /**
     * Name, in UTF-8.
     */
    struct cx_string name;
    /**
     * Type of the values: one of CX_VALUE_....
     */
    cx_value_type value_type;
    /**
     * Way to combine values: one of CX_MERGE_....
     */
    cx_merge merge;
} cx_column_info;

/**
 * A value of a column of bytes. It points into a block: it is valid until the last handle of its blocks is freed.
 */
typedef struct cx_bytes {
    /**
     * First byte; NULL if the series has no value. That of an empty value is not NULL.
     */
    const uint8_t *data;
    /**
     * Length in bytes: at most 65535.
     */
    size_t len;
} cx_bytes;

/**
 * Several series: the ids and labels of all of them one after another, and where those of each end. The arrays are
 * valid until the next call with the same rows or reader; what the labels point to, as long as the blocks.
 */
typedef struct cx_series_batch {
    /**
     * Number of series; 0 after the last one.
     */
    size_t series_count;
    /**
     * Ids of the series, one per block that has it. NULL for those of a reader, whose caller has them.
     */
    const struct cx_series_id *ids;
    /**
     * For each series, the number of ids up to its last one.
     */
    const size_t *id_ends;
    /**
     * Labels, those of each series in the order of their names.
     */
    const struct cx_label *labels;
    /**
     * For each series, the number of labels up to its last one.
     */
    const size_t *label_ends;
} cx_series_batch;

/**
 * Comparison of a matcher: one of CX_OPERATOR_....
 */
typedef int32_t cx_operator;

/**
 * A condition on the value of a label. An absent label has the empty value.
 */
typedef struct cx_matcher {
    /**
     * First byte of the label's name.
     */
    const char *name;
    /**
     * Length of the name in bytes.
     */
    size_t name_len;
    /**
     * Comparison: one of CX_OPERATOR_....
     */
    cx_operator op;
    /**
     * First byte of the value, or of a regular expression in the syntax of RE2, which must match the whole value.
     */
    const char *value;
    /**
     * Length of the value in bytes.
     */
    size_t value_len;
} cx_matcher;

/**
 * Selected series, and limits of the work. Calls accept NULL, and a struct of zeros, for all series without limits.
 */
typedef struct cx_query {
    /**
     * Selectors: a series is selected if one of them matches it. NULL for all series.
     */
    const struct cx_selector *const *selectors;
    /**
     * Number of `selectors`.
     */
    size_t selector_count;
    /**
     * Range of times, or NULL: leaves out blocks without data in it, and series whose first and last time in a block
     * (the columns chronoxide.first_time and chronoxide.last_time) do not meet it. One that is empty selects nothing.
     */
    const struct cx_time_range *within;
    /**
     * Errors of blocks that are damaged where the query reads them are added here, and their series are missing. NULL
     * to fail with the first of them. For those that rows meet later, see cx_rows_damaged.
     */
    const struct cx_failures *damaged;
    /**
     * Flag that cancels the query, or NULL. Once it is set, CX_CANCELLED.
     */
    const struct cx_cancel *cancel;
    /**
     * Maximum number of selected series, or 0 for no limit. More of them give CX_TOO_MANY_SERIES. Names and values of
     * labels are not limited. A series that two blocks have counts twice.
     */
    uint64_t max_series;
    /**
     * Maximum memory of the refs of a selection in bytes, or 0 for 1 GiB. More give CX_OUT_OF_RESOURCES.
     */
    uint64_t max_memory;
    /**
     * Maximum time in milliseconds from the begin of the call to the last row, or 0 for no limit. Afterwards,
     * CX_TIMEOUT.
     */
    uint64_t timeout_ms;
    /**
     * Maximum number of names or values of labels, the first ones, or 0 for all.
     */
    size_t max_strings;
    /**
     * Only names or values of labels behind this one, by bytes; `data` is NULL for all.
     */
    struct cx_string strings_after;
} cx_query;

/**
 * Neighbouring series of a block.
 */
typedef struct cx_id_range {
    /**
     * Id of the block.
     */
    struct cx_block_id block;
    /**
     * Position of the first series in the block.
     */
    uint32_t start;
    /**
     * Position behind the last one.
     */
    uint32_t end;
} cx_id_range;

/**
 * Series that have equal values of the labels that were asked for.
 */
typedef struct cx_group {
    /**
     * The labels, in the order of their names, without those that the series do not have.
     */
    const struct cx_label *labels;
    /**
     * Number of labels.
     */
    size_t label_count;
    /**
     * Number of distinct series.
     */
    uint64_t series_count;
} cx_group;

/**
 * Order of series: one of CX_ORDER_....
 */
typedef int32_t cx_order;

/**
 * A selected series. The arrays are valid until the next call with these rows; what the labels point to, as long as
 * the blocks.
 */
typedef struct cx_series {
    /**
     * Ids of the series, one per block that has it.
     */
    const struct cx_series_id *ids;
    /**
     * Number of ids; 0 after the last series.
     */
    size_t id_count;
    /**
     * Labels, in the order of their names.
     */
    const struct cx_label *labels;
    /**
     * Number of labels.
     */
    size_t label_count;
} cx_series;

/**
 * Description of a stream of Arrow record batches. Calls accept NULL, and a struct of zeros, for all defaults.
 */
typedef struct cx_arrow_options {
    /**
     * Names of the labels that become columns, each under its name; a label that no block has becomes a column of
     * nulls. NULL for all labels of the blocks.
     */
    const struct cx_string *labels;
    /**
     * Number of `labels`.
     */
    size_t label_count;
    /**
     * Names of series columns that become columns behind the labels, each under its name, and
     * `chronoxide.fingerprint` for the fingerprints of series (16 bytes). A column that only some blocks have is null
     * in the others; one that none has gives CX_USAGE. NULL for none.
     */
    const struct cx_string *values;
    /**
     * Number of `values`.
     */
    size_t value_count;
    /**
     * True for one column `labels` with a map of all labels, instead of a column per label.
     */
    bool as_map;
    /**
     * True for columns of type `Utf8View` instead of `Dictionary(UInt32, Utf8View)`, for consumers without
     * dictionaries.
     */
    bool without_dictionaries;
    /**
     * True for a column `block` with the ids of blocks.
     */
    bool block_ids;
    /**
     * Order of the series of each block: one of CX_ORDER_....
     */
    cx_order order;
    /**
     * Number of series per batch, or 0 for 8,192.
     */
    size_t batch_size;
    /**
     * Maximum number of series, or 0 for all.
     */
    uint64_t max_series;
} cx_arrow_options;

/**
 * Success. Outputs are written, and the error is not.
 */
#define CX_OK 0

/**
 * A file could not be read.
 */
#define CX_IO 1

/**
 * An argument is invalid: a null pointer, a selector that does not parse, text that is not UTF-8, two labels of one
 * name, a reader or rows in use by another thread.
 */
#define CX_USAGE 2

/**
 * A block is damaged, or the bytes are not a block.
 */
#define CX_CORRUPT 3

/**
 * A block has a version or a feature that this library does not support.
 */
#define CX_UNSUPPORTED 4

/**
 * The caller's buffer is too small. The count says how many elements are needed.
 */
#define CX_TOO_SMALL 7

/**
 * More series than `max_series`.
 */
#define CX_TOO_MANY_SERIES 8

/**
 * The query took longer than `timeout_ms`.
 */
#define CX_TIMEOUT 9

/**
 * The query was cancelled by cx_cancel_set.
 */
#define CX_CANCELLED 10

/**
 * The system has no more memory, files or maps. The file may be sound.
 */
#define CX_OUT_OF_RESOURCES 11

/**
 * A bug in this library. Please report its message. The handle may be used further, except a reader or rows.
 */
#define CX_INTERNAL 12

/**
 * Each chunk of 8 KiB when it is first read. Opening costs the same for any size of block.
 */
#define CX_CHECKS_LAZY 0

/**
 * All of them at opening: one pass over the block at some 20 GB/s, and no further cost.
 */
#define CX_CHECKS_EAGER 1

/**
 * Never, for bytes that were checked before. Damage gives an error or wrong values, and crashes nothing.
 */
#define CX_CHECKS_NEVER 2

/**
 * Signed numbers of 64 bits.
 */
#define CX_VALUE_I64 1

/**
 * Unsigned numbers of 64 bits.
 */
#define CX_VALUE_U64 2

/**
 * Bytes.
 */
#define CX_VALUE_BYTES 3

/**
 * The column is left out.
 */
#define CX_MERGE_DROP 0

/**
 * The value that all have.
 */
#define CX_MERGE_SAME 1

/**
 * The least value.
 */
#define CX_MERGE_MIN 2

/**
 * The greatest value.
 */
#define CX_MERGE_MAX 3

/**
 * The sum of the values.
 */
#define CX_MERGE_SUM 4

/**
 * Each bit that a value has.
 */
#define CX_MERGE_OR 5

/**
 * The value of the newest block.
 */
#define CX_MERGE_NEWEST 6

/**
 * `=`
 */
#define CX_OPERATOR_EQUAL 0

/**
 * `!=`
 */
#define CX_OPERATOR_NOT_EQUAL 1

/**
 * `=~`
 */
#define CX_OPERATOR_MATCHES 2

/**
 * `!~`
 */
#define CX_OPERATOR_NOT_MATCHES 3

/**
 * Order of blocks and refs, which is the fastest.
 */
#define CX_ORDER_REFS 0

/**
 * Order of labels: by the first name, then the first value, then the second name, and so on, by bytes. A labelset
 * comes before those that begin with it. This is the order of Prometheus. Takes up to 100 bytes per selected series.
 */
#define CX_ORDER_LABELS 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, such as "1.0.0".
 *
 * Only a new major version may change functions and structs, and a release candidate. The shared library has the major
 * version in its name, so that a program does not load one that it was not built for.
 */
const char *cx_version(void);

/**
 * Makes an empty list, to which queries add errors of blocks: see cx_query.
 */
cx_status cx_failures_new(struct cx_failures **failures, struct cx_error *error);

/**
 * Returns the number of errors; 0 for NULL.
 */
size_t cx_failures_count(const struct cx_failures *failures);

/**
 * Writes the error at `position` to `failure`. Returns false, and writes nothing, if it is out of range.
 */
bool cx_failures_get(const struct cx_failures *failures, size_t position, struct cx_error *failure);

/**
 * Frees a list that cx_failures_new made, or does nothing for NULL.
 */
void cx_failures_free(struct cx_failures *failures);

/**
 * Opens a block, or the live blocks of a folder, as memory maps.
 *
 * As long as the blocks or anything made from them exist, the files must not be truncated and their bytes must not
 * change: the process could end with SIGBUS, or see other bytes than it checked. Published blocks meet this contract:
 * they are only deleted or replaced by renaming. Where others may write to the files, use cx_blocks_read.
 */
cx_status cx_blocks_map(const char *path,
                        const struct cx_open_options *options,
                        struct cx_blocks **blocks,
                        struct cx_error *error);

/**
 * Opens a block, or the live blocks of a folder, by reading files into memory. The files may change or disappear
 * afterwards.
 */
cx_status cx_blocks_read(const char *path,
                         const struct cx_open_options *options,
                         struct cx_blocks **blocks,
                         struct cx_error *error);

/**
 * Opens a block from bytes, which are copied.
 */
cx_status cx_blocks_from_bytes(const uint8_t *bytes,
                               size_t len,
                               const struct cx_open_options *options,
                               struct cx_blocks **blocks,
                               struct cx_error *error);

/**
 * Opens the same path again, in the same way, and keeps the indexes of blocks that are still there. The old blocks
 * stay valid: free them to release deleted files.
 */
cx_status cx_blocks_refresh(const struct cx_blocks *blocks, struct cx_blocks **fresh, struct cx_error *error);

/**
 * Frees blocks, or does nothing for NULL. What was made from them stays valid, and so do labels and strings as long as
 * one of these handles exists, other than those of cx_blocks_refresh.
 */
void cx_blocks_free(struct cx_blocks *blocks);

/**
 * Returns the number of blocks; 0 for NULL.
 */
size_t cx_blocks_count(const struct cx_blocks *blocks);

/**
 * Writes facts about the block at `position`. Blocks without a time range come first, the others by start time.
 */
cx_status cx_blocks_info(const struct cx_blocks *blocks,
                         size_t position,
                         struct cx_block_info *info,
                         struct cx_error *error);

/**
 * Returns the errors of files that are not valid blocks, if these were skipped; NULL for NULL. They belong to the
 * blocks.
 */
const struct cx_failures *cx_blocks_damaged(const struct cx_blocks *blocks);

/**
 * Checks every rule of the format in all blocks: takes about as long as reading all labels.
 */
cx_status cx_blocks_verify(const struct cx_blocks *blocks, struct cx_error *error);

/**
 * Finds the series with exactly these labels, and writes its ids, one per block that has it, to a buffer with room for
 * `capacity` ids, and their number to `count`; 0 if no block has it. This is not a matcher: see cx_query_series.
 *
 * If there are more than `capacity` ids, returns CX_TOO_SMALL: `count` is the capacity that is needed. That of
 * cx_blocks_count is never too small.
 *
 * Labels may come in any order, and those with an empty value are ignored. Searches are two to four times faster after
 * the first query of the blocks.
 */
cx_status cx_blocks_find(const struct cx_blocks *blocks,
                         const struct cx_label *labels,
                         size_t label_count,
                         struct cx_series_id *ids,
                         size_t capacity,
                         size_t *count,
                         struct cx_error *error);

/**
 * Lists the columns of blocks. Costs a look at the header of each column of each block, and reads no value. Columns of
 * one name with different types or ways to combine values give CX_USAGE, with the paths of both blocks.
 */
cx_status cx_blocks_columns(const struct cx_blocks *blocks, struct cx_columns **columns, struct cx_error *error);

/**
 * Returns the number of columns; 0 for NULL.
 */
size_t cx_columns_count(const struct cx_columns *columns);

/**
 * Returns the columns, as many as cx_columns_count says; NULL for none, and for NULL. They are valid until the list is
 * freed.
 */
const struct cx_column_info *cx_columns_items(const struct cx_columns *columns);

/**
 * Frees a list, or does nothing for NULL.
 */
void cx_columns_free(struct cx_columns *columns);

/**
 * Finds the column with a name, and writes it to `column`; NULL if no block has it, which is not an error. Costs a
 * binary search over the columns of each block. Errors are those of cx_blocks_columns.
 */
cx_status cx_column_find(const struct cx_blocks *blocks,
                         const char *name,
                         size_t name_len,
                         struct cx_column **column,
                         struct cx_error *error);

/**
 * Writes facts about a column.
 */
cx_status cx_column_describe(const struct cx_column *column, struct cx_column_info *info, struct cx_error *error);

/**
 * Reads the values of `id_count` series of a column of type CX_VALUE_I64. `values` and `has_value` are arrays with
 * `id_count` elements: `has_value` is false, and the value 0, for a series without a value, one of a block that does
 * not have the column, and an id that no block has. Ids may come in any order and repeat.
 *
 * Each call looks for the column in each block, as cx_column_find does: read many series at once. Then a value costs
 * the search of its block, a record of 256 values and a search among their exceptions; in runs of 16 and more
 * consecutive series, groups of 256 values are decoded as a whole, for a fraction of that. A call allocates at most
 * 24 KiB.
 *
 * Another type of the column gives CX_USAGE. After CX_CORRUPT, the content of the arrays is unspecified.
 */
cx_status cx_column_read_i64(const struct cx_column *column,
                             const struct cx_series_id *ids,
                             size_t id_count,
                             int64_t *values,
                             bool *has_value,
                             struct cx_error *error);

/**
 * Reads the values of series of a column of type CX_VALUE_U64, as cx_column_read_i64 does.
 */
cx_status cx_column_read_u64(const struct cx_column *column,
                             const struct cx_series_id *ids,
                             size_t id_count,
                             uint64_t *values,
                             bool *has_value,
                             struct cx_error *error);

/**
 * Reads the values of `id_count` series of a column of type CX_VALUE_BYTES to an array with `id_count` elements, as
 * cx_column_read_i64 does. Bytes are not copied. A value costs three numbers: its own, and the two of the place of its
 * bytes.
 */
cx_status cx_column_read_bytes(const struct cx_column *column,
                               const struct cx_series_id *ids,
                               size_t id_count,
                               struct cx_bytes *values,
                               struct cx_error *error);

/**
 * Frees a column, or does nothing for NULL.
 */
void cx_column_free(struct cx_column *column);

/**
 * Makes a reader. It takes 40 KiB: read series in the order of their ids.
 */
cx_status cx_reader_new(const struct cx_blocks *blocks, struct cx_reader **reader, struct cx_error *error);

/**
 * Writes the address and the number of the labels of a series, in the order of their names. If no block has the
 * series, these are NULL and 0. The array is valid until the next call with this reader; what the labels point to, as
 * long as the blocks.
 *
 * Allocates only when a series is of another block, or has more labels, than each one before.
 */
cx_status cx_reader_labels(const struct cx_reader *reader,
                           struct cx_series_id id,
                           const struct cx_label **labels,
                           size_t *count,
                           struct cx_error *error);

/**
 * Writes the labels of `id_count` series. One that no block has gets no labels.
 */
cx_status cx_reader_labels_batch(const struct cx_reader *reader,
                                 const struct cx_series_id *ids,
                                 size_t id_count,
                                 struct cx_series_batch *series,
                                 struct cx_error *error);

/**
 * Frees a reader, or does nothing for NULL.
 */
void cx_reader_free(struct cx_reader *reader);

/**
 * Parses a PromQL selector, such as `up{job="api",pod=~"web-.*"}`.
 *
 * Unlike PromQL, accepts selectors whose matchers all match the empty value, such as `{}`, which selects all series.
 */
cx_status cx_selector_parse(const char *text, size_t len, struct cx_selector **selector, struct cx_error *error);

/**
 * Makes a selector of matchers. Without matchers, it selects all series.
 */
cx_status cx_selector_new(const struct cx_matcher *matchers,
                          size_t count,
                          struct cx_selector **selector,
                          struct cx_error *error);

/**
 * Frees a selector, or does nothing for NULL.
 */
void cx_selector_free(struct cx_selector *selector);

/**
 * Counts the series of a query. A series that several blocks have counts once.
 */
cx_status cx_query_count(const struct cx_blocks *blocks,
                         const struct cx_query *query,
                         uint64_t *count,
                         struct cx_error *error);

/**
 * Lists the names of the labels of the series of a query.
 */
cx_status cx_query_label_names(const struct cx_blocks *blocks,
                               const struct cx_query *query,
                               struct cx_strings **names,
                               struct cx_error *error);

/**
 * Lists the values that a label has in the series of a query.
 */
cx_status cx_query_label_values(const struct cx_blocks *blocks,
                                const struct cx_query *query,
                                const char *name,
                                size_t name_len,
                                struct cx_strings **values,
                                struct cx_error *error);

/**
 * Makes a flag that is not set.
 */
cx_status cx_cancel_new(struct cx_cancel **cancel, struct cx_error *error);

/**
 * Sets a flag, from any thread. Does nothing for NULL. It cannot be unset.
 */
void cx_cancel_set(const struct cx_cancel *cancel);

/**
 * Frees a flag, or does nothing for NULL. No query may use it any more, except rows, which keep it.
 */
void cx_cancel_free(struct cx_cancel *cancel);

/**
 * Selects the series of a query, and returns their ids as ranges: a metric is often one range per keyset. A series
 * that several blocks have comes in each.
 */
cx_status cx_query_select(const struct cx_blocks *blocks,
                          const struct cx_query *query,
                          struct cx_selection **selection,
                          struct cx_error *error);

/**
 * Returns the number of ranges; 0 for NULL.
 */
size_t cx_selection_range_count(const struct cx_selection *selection);

/**
 * Returns the ranges, as many as cx_selection_range_count says; NULL for none, and for NULL. They are valid until the
 * selection is freed.
 */
const struct cx_id_range *cx_selection_ranges(const struct cx_selection *selection);

/**
 * Frees a selection, or does nothing for NULL.
 */
void cx_selection_free(struct cx_selection *selection);

/**
 * Counts the series of a query by the values of some labels, or of all others if `without` is true, as
 * `count by (namespace) (...)` of PromQL does. PromQL's `without` also drops `__name__`: name it, too.
 */
cx_status cx_query_group(const struct cx_blocks *blocks,
                         const struct cx_query *query,
                         const struct cx_string *names,
                         size_t name_count,
                         bool without,
                         struct cx_groups **groups,
                         struct cx_error *error);

/**
 * Returns the number of groups; 0 for NULL.
 */
size_t cx_groups_count(const struct cx_groups *groups);

/**
 * Returns the groups, as many as cx_groups_count says; NULL for none, and for NULL. They are valid until the groups
 * are freed.
 */
const struct cx_group *cx_groups_items(const struct cx_groups *groups);

/**
 * Frees groups, or does nothing for NULL.
 */
void cx_groups_free(struct cx_groups *groups);

/**
 * Selects the series of a query. The time limit and the flag of the query hold until the last row is read, and end the
 * rows.
 */
cx_status cx_query_series(const struct cx_blocks *blocks,
                          const struct cx_query *query,
                          cx_order order,
                          struct cx_rows **rows,
                          struct cx_error *error);

/**
 * Steps to the next series, and writes it. After the last one, it has no ids. After CX_CORRUPT, the next call
 * continues behind the series; if damaged blocks are skipped, the rest of such a block is left out instead.
 */
cx_status cx_rows_next(const struct cx_rows *rows, struct cx_series *series, struct cx_error *error);

/**
 * Steps to the next series, and writes it without its labels: for callers that need its ids only.
 */
cx_status cx_rows_next_ids(const struct cx_rows *rows, struct cx_series *series, struct cx_error *error);

/**
 * Steps over up to `max_count` series, and writes them. After the last one, there are none. If a series cannot be
 * read, those before it come first, and the error with the next call; then it goes on as cx_rows_next does.
 */
cx_status cx_rows_next_batch(const struct cx_rows *rows,
                             size_t max_count,
                             struct cx_series_batch *series,
                             struct cx_error *error);

/**
 * Adds the errors of damaged blocks that rows have met to a list, if the query of the rows skips them: ask after the
 * last row.
 */
cx_status cx_rows_damaged(const struct cx_rows *rows, const struct cx_failures *damaged, struct cx_error *error);

/**
 * Frees rows, or does nothing for NULL.
 */
void cx_rows_free(struct cx_rows *rows);

/**
 * Makes a stream of Arrow record batches of the series of a query, block by block: a column `series_ref`, with an
 * underscore before it if a label has this name, and a column per label, or one map of all. Strings are those of the
 * blocks, without copies.
 *
 * The consumer releases the stream, and each schema and array that it takes from it, as the Arrow C stream interface
 * says. They keep the blocks open. If the call fails, `stream` is marked as released.
 */
cx_status cx_query_arrow_stream(const struct cx_blocks *blocks,
                                const struct cx_query *query,
                                const struct cx_arrow_options *options,
                                struct ArrowArrayStream *stream,
                                struct cx_error *error);

/**
 * Returns the number of strings; 0 for NULL.
 */
size_t cx_strings_count(const struct cx_strings *strings);

/**
 * Returns the strings, as many as cx_strings_count says; NULL for none, and for NULL. They are valid until the list is
 * freed.
 */
const struct cx_string *cx_strings_items(const struct cx_strings *strings);

/**
 * Frees a list, or does nothing for NULL.
 */
void cx_strings_free(struct cx_strings *strings);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHRONOXIDE_H */
