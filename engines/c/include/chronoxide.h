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
 * Lifetimes. Labels and strings point into the block: they are valid as long as the block, or anything that was made
 * from it: a selection, a cursor, a resolver, a list of strings, a set. Handles keep what they were made from, in any
 * order of release.
 *
 * Threads. Handles may be passed between threads. Any number of threads may use one handle at once, except that a
 * cursor and a resolver serve one thread at a time, and that nothing may use a handle while it is freed. Calls need
 * up to 512 KiB of stack.
 *
 * Text. Names, values and selectors are bytes with a length, without a NUL. Paths end with a NUL. Label names and
 * values are UTF-8 in every block that verifies; they may be any bytes in a damaged one.
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
 * Maximum number of labels of a series: a buffer of this capacity is never too small.
 */
#define CX_MAX_LABELS 1023

/**
 * Ref of no series: the result of a search that found none, and the end of a cursor.
 */
#define CX_NO_SERIES UINT32_MAX

/**
 * Bytes of the text of a block id, with the NUL at its end.
 */
#define CX_BLOCK_ID_LEN 27

/**
 * An open block. It does not change: several threads may use one handle at once.
 */
typedef struct cx_block cx_block;

/**
 * A flag that one thread sets to cancel the queries of others.
 */
typedef struct cx_cancel cx_cancel;

/**
 * Walks over the series of a selection. One thread at a time may use it: a second one gets CX_USAGE. It stays valid
 * after its selection is freed.
 */
typedef struct cx_cursor cx_cursor;

/**
 * Errors of single blocks of a folder, whose part of a result is missing. Belongs to the handle it came from.
 */
typedef struct cx_failures cx_failures;

/**
 * Resolves many series of a block. One thread at a time may use it: a second one gets CX_USAGE. It stays valid after
 * its block is freed.
 */
typedef struct cx_resolver cx_resolver;

/**
 * Selected series of one block. It does not change: several threads may use one handle at once. It stays valid after
 * its block is freed.
 */
typedef struct cx_selection cx_selection;

/**
 * Matchers, with compiled regular expressions. It does not change: several threads may use one handle at once.
 */
typedef struct cx_selector cx_selector;

/**
 * The live blocks of a folder, as they were when it was opened. It does not change: several threads may use one handle
 * at once. Open the folder again to see later changes.
 *
 * Reads files whose name ends in `.cx` and does not begin with a dot. Blocks that a finished compaction replaced are
 * left out, so that each series counts once.
 */
typedef struct cx_set cx_set;

/**
 * Selected series of the blocks of a set: a selection per block that has some. It does not change: several threads may
 * use one handle at once.
 */
typedef struct cx_set_selection cx_set_selection;

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
 * When the checksums of a block are checked: one of CX_CHECKS_.... Header and directory always are, when it is
 * opened.
 */
typedef int32_t cx_checks;

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
 * A label. Names and values have no NUL at their end.
 *
 * Labels that a call returns point into the block: they are valid until its last handle is freed.
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
 * Limits of a query. Calls accept NULL, and a struct of zeros, for none.
 */
typedef struct cx_limits {
    /**
     * Maximum number of selected series, or 0 for no limit. More of them give CX_TOO_MANY_SERIES. Limits selections
     * only: counts, names and values of labels list no series.
     */
    uint64_t max_series;
    /**
     * Maximum time in milliseconds from the begin of the call, or 0 for no limit. Afterwards, CX_TIMEOUT.
     */
    uint64_t timeout_ms;
    /**
     * Flag that cancels the query, or NULL. Once it is set, CX_CANCELLED.
     */
    const struct cx_cancel *cancel;
    /**
     * Maximum memory of the refs of a selection in bytes, or 0 for 1 GiB. More give CX_OUT_OF_RESOURCES.
     */
    uint64_t max_memory;
} cx_limits;

/**
 * A half-open range of refs.
 */
typedef struct cx_range {
    /**
     * First ref of the range.
     */
    uint32_t start;
    /**
     * First ref after the range.
     */
    uint32_t end;
} cx_range;

/**
 * Order of a cursor: one of CX_ORDER_....
 */
typedef int32_t cx_order;

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
 * Description of a stream of Arrow record batches. Calls accept NULL, and a struct of zeros, for all defaults.
 */
typedef struct cx_arrow_options {
    /**
     * Names of the labels that become columns, each under its name; a label that the block does not have becomes a
     * column of nulls. NULL for all labels of the block.
     */
    const struct cx_string *labels;
    /**
     * Number of `labels`.
     */
    size_t label_count;
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
     * Order of the series: one of CX_ORDER_....
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
 * name, a cursor in use by another thread.
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
 * A bug in this library. Please report its message. The handle may be used further, except a cursor or a resolver.
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
 * Order of refs, which is the fastest.
 */
#define CX_ORDER_REFS 0

/**
 * Order of labels: by the first name, then the first value, then the second name, and so on, by bytes. A labelset
 * comes before those that begin with it. This is the order of Prometheus. Takes 16 bytes per selected series.
 */
#define CX_ORDER_LABELS 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, such as "0.1.0".
 *
 * Before 1.0, each minor version may change functions and structs. The shared library has the minor version in its
 * name, so that a program does not load one that it was not built for.
 */
const char *cx_version(void);

/**
 * Opens a block as a memory map.
 *
 * As long as the block or anything made from it exists, the file must not be truncated and its bytes must not change:
 * the process could end with SIGBUS, or see other bytes than it checked. Published blocks meet this contract: they are
 * only deleted or replaced by renaming. Where others may write to the file, use cx_block_read.
 */
cx_status cx_block_map(const char *path, cx_checks checks, struct cx_block **block, struct cx_error *error);

/**
 * Opens a block by reading its file into memory. The file may change or disappear afterwards.
 */
cx_status cx_block_read(const char *path, cx_checks checks, struct cx_block **block, struct cx_error *error);

/**
 * Opens a block from bytes, which are copied.
 */
cx_status cx_block_from_bytes(const uint8_t *bytes,
                              size_t len,
                              cx_checks checks,
                              struct cx_block **block,
                              struct cx_error *error);

/**
 * Frees a block, or does nothing for NULL. What was made from it stays valid, and so do labels and strings as long as
 * one of these handles exists.
 */
void cx_block_free(struct cx_block *block);

/**
 * Checks every rule of the format: takes about as long as reading all labels.
 */
cx_status cx_block_verify(const struct cx_block *block, struct cx_error *error);

/**
 * Writes the id of a block as text, with a NUL at its end, to a buffer with room for `capacity` bytes; CX_BLOCK_ID_LEN
 * are needed. Blocks with equal ids have equal content.
 */
cx_status cx_block_id(const struct cx_block *block, char *id, size_t capacity, struct cx_error *error);

/**
 * Writes the time range of a block, and if it is known. An unknown one is written as 0 to 0.
 */
cx_status cx_block_time_range(const struct cx_block *block,
                              struct cx_time_range *range,
                              bool *is_known,
                              struct cx_error *error);

/**
 * Writes the number of series of a block. Refs are the numbers below it.
 */
cx_status cx_block_series_count(const struct cx_block *block, uint32_t *count, struct cx_error *error);

/**
 * Writes the labels of a series, in the order of their names, to a buffer with room for `capacity` labels, and their
 * number to `count`. The number is 0 if the block does not have the series: each series has a label.
 *
 * If there are more than `capacity` labels, returns CX_TOO_SMALL: `count` is the capacity that is needed, and the
 * content of the buffer is unspecified. A buffer for CX_MAX_LABELS is never too small.
 *
 * Allocates nothing. For many series, cx_resolver_labels and cx_cursor_next are faster.
 */
cx_status cx_block_labels(const struct cx_block *block,
                          uint32_t series,
                          struct cx_label *labels,
                          size_t capacity,
                          size_t *count,
                          struct cx_error *error);

/**
 * Writes the ref of the series with exactly these labels, or CX_NO_SERIES if the block does not have it. This is not a
 * matcher: see cx_block_select.
 *
 * Labels may come in any order, and those with an empty value are ignored. Searches are two to four times faster after
 * the first query of the block with a selector.
 */
cx_status cx_block_find(const struct cx_block *block,
                        const struct cx_label *labels,
                        size_t label_count,
                        uint32_t *series,
                        struct cx_error *error);

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
 * Makes a flag that is not set.
 */
cx_status cx_cancel_new(struct cx_cancel **cancel, struct cx_error *error);

/**
 * Sets a flag, from any thread. Does nothing for NULL. It cannot be unset.
 */
void cx_cancel_set(const struct cx_cancel *cancel);

/**
 * Frees a flag, or does nothing for NULL. No query may use it any more, except by a cursor, which keeps it.
 */
void cx_cancel_free(struct cx_cancel *cancel);

/**
 * Selects the series that satisfy all matchers; all series if `selector` is NULL.
 */
cx_status cx_block_select(const struct cx_block *block,
                          const struct cx_selector *selector,
                          const struct cx_limits *limits,
                          struct cx_selection **selection,
                          struct cx_error *error);

/**
 * Writes the number of series that satisfy all matchers, without listing them; of all series if `selector` is NULL.
 */
cx_status cx_block_count(const struct cx_block *block,
                         const struct cx_selector *selector,
                         const struct cx_limits *limits,
                         uint64_t *count,
                         struct cx_error *error);

/**
 * Lists the names of the labels of the series that satisfy all matchers; of all series if `selector` is NULL.
 */
cx_status cx_block_label_names(const struct cx_block *block,
                               const struct cx_selector *selector,
                               const struct cx_limits *limits,
                               struct cx_strings **names,
                               struct cx_error *error);

/**
 * Lists the values that a label has in the series that satisfy all matchers, in all series if `selector` is NULL: the
 * first `max_values` of them, or all if it is 0.
 */
cx_status cx_block_label_values(const struct cx_block *block,
                                const char *name,
                                size_t name_len,
                                const struct cx_selector *selector,
                                size_t max_values,
                                const struct cx_limits *limits,
                                struct cx_strings **values,
                                struct cx_error *error);

/**
 * Returns the number of selected series; 0 for NULL.
 */
uint32_t cx_selection_count(const struct cx_selection *selection);

/**
 * Returns true if a series is selected. Costs a binary search.
 */
bool cx_selection_contains(const struct cx_selection *selection, uint32_t series);

/**
 * Returns the number of ranges of refs; 0 for NULL.
 */
size_t cx_selection_range_count(const struct cx_selection *selection);

/**
 * Returns the ranges of refs, in order and with gaps between them, as many as cx_selection_range_count says; NULL for
 * none, and for NULL. They are valid until the selection is freed.
 */
const struct cx_range *cx_selection_ranges(const struct cx_selection *selection);

/**
 * Writes the selected refs from `first` on, in order, to a buffer with room for `capacity` refs, and their number to
 * `count`. To read all in chunks, begin with 0, and go on with the last ref plus 1, until the count is 0.
 */
cx_status cx_selection_refs(const struct cx_selection *selection,
                            uint32_t first,
                            uint32_t *refs,
                            size_t capacity,
                            size_t *count,
                            struct cx_error *error);

/**
 * Frees a selection, or does nothing for NULL. Its cursors stay valid.
 */
void cx_selection_free(struct cx_selection *selection);

/**
 * Makes a cursor over the series of a selection. The limits hold for the sorting of CX_ORDER_LABELS, until its end.
 */
cx_status cx_selection_cursor(const struct cx_selection *selection,
                              cx_order order,
                              const struct cx_limits *limits,
                              struct cx_cursor **cursor,
                              struct cx_error *error);

/**
 * Steps to the next series, and writes its ref, and the address and the number of its labels, in the order of their
 * names. After the last series, writes CX_NO_SERIES and no labels.
 *
 * The array is valid until the next call with this cursor; what the labels point to, as long as the block. After an
 * error of one series, the next call continues behind it. `labels` and `count` may both be NULL, to read refs only.
 */
cx_status cx_cursor_next(const struct cx_cursor *cursor,
                         uint32_t *series,
                         const struct cx_label **labels,
                         size_t *count,
                         struct cx_error *error);

/**
 * Frees a cursor, or does nothing for NULL.
 */
void cx_cursor_free(struct cx_cursor *cursor);

/**
 * Makes a resolver. It takes about 190 KiB and caches what neighbours share: read series in the order of their refs.
 */
cx_status cx_resolver_new(const struct cx_block *block, struct cx_resolver **resolver, struct cx_error *error);

/**
 * Writes the address and the number of the labels of a series, in the order of their names. If the block does not have
 * the series, these are NULL and 0. The array is valid until the next call with this resolver; what the labels point
 * to, as long as the block.
 */
cx_status cx_resolver_labels(const struct cx_resolver *resolver,
                             uint32_t series,
                             const struct cx_label **labels,
                             size_t *count,
                             struct cx_error *error);

/**
 * Frees a resolver, or does nothing for NULL.
 */
void cx_resolver_free(struct cx_resolver *resolver);

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
 * Returns the errors of damaged blocks, whose strings are missing. Strings of a single block have none.
 */
const struct cx_failures *cx_strings_failures(const struct cx_strings *strings);

/**
 * Frees a list, or does nothing for NULL.
 */
void cx_strings_free(struct cx_strings *strings);

/**
 * Opens the blocks of a folder as memory maps. The contract of cx_block_map holds for each of them.
 *
 * A file that is not a valid block is not an error, but listed by cx_set_unreadable.
 */
cx_status cx_set_map(const char *folder, cx_checks checks, struct cx_set **set, struct cx_error *error);

/**
 * Opens the blocks of a folder by reading them into memory.
 *
 * A file that is not a valid block is not an error, but listed by cx_set_unreadable.
 */
cx_status cx_set_read(const char *folder, cx_checks checks, struct cx_set **set, struct cx_error *error);

/**
 * Frees a set, or does nothing for NULL. Its blocks become invalid; what was made from them stays valid.
 */
void cx_set_free(struct cx_set *set);

/**
 * Returns the number of blocks; 0 for NULL.
 */
size_t cx_set_block_count(const struct cx_set *set);

/**
 * Returns the block at `position`, or NULL if it is out of range. It belongs to the set: do not free it.
 *
 * Blocks without a time range come first, the others by start time.
 */
const struct cx_block *cx_set_block(const struct cx_set *set, size_t position);

/**
 * Returns the errors of files that cannot be opened as blocks; NULL for NULL. They belong to the set.
 */
const struct cx_failures *cx_set_unreadable(const struct cx_set *set);

/**
 * Lists the names of the labels of the series of all blocks that satisfy all matchers; of all series if `selector` is
 * NULL. `within` leaves out blocks without data in a range of times, or is NULL.
 */
cx_status cx_set_label_names(const struct cx_set *set,
                             const struct cx_selector *selector,
                             const struct cx_time_range *within,
                             const struct cx_limits *limits,
                             struct cx_strings **names,
                             struct cx_error *error);

/**
 * Lists the values that a label has in the series of all blocks that satisfy all matchers; in all series if `selector`
 * is NULL: the first `max_values` of them, or all if it is 0. `within` leaves out blocks without data in a range of
 * times, or is NULL.
 */
cx_status cx_set_label_values(const struct cx_set *set,
                              const char *name,
                              size_t name_len,
                              const struct cx_selector *selector,
                              const struct cx_time_range *within,
                              size_t max_values,
                              const struct cx_limits *limits,
                              struct cx_strings **values,
                              struct cx_error *error);

/**
 * Selects the series of all blocks that satisfy all matchers; all series if `selector` is NULL. `within` leaves out
 * blocks without data in a range of times, or is NULL. Blocks are queried on all processors.
 *
 * A damaged block is not an error, but listed by cx_set_selection_failures. A series that several blocks have is
 * selected in each of them.
 */
cx_status cx_set_select(const struct cx_set *set,
                        const struct cx_selector *selector,
                        const struct cx_time_range *within,
                        const struct cx_limits *limits,
                        struct cx_set_selection **selection,
                        struct cx_error *error);

/**
 * Returns the number of selected series of all blocks; 0 for NULL. A series that several blocks have counts in each.
 */
uint64_t cx_set_selection_count(const struct cx_set_selection *selection);

/**
 * Returns the number of blocks with selected series; 0 for NULL.
 */
size_t cx_set_selection_part_count(const struct cx_set_selection *selection);

/**
 * Returns the selected series of one block, and writes the position of the block for cx_set_block. `part` counts the
 * blocks with selected series. Returns NULL if it is out of range. The result belongs to `selection`: do not free it.
 */
const struct cx_selection *cx_set_selection_part(const struct cx_set_selection *selection, size_t part, size_t *block);

/**
 * Returns the errors of damaged blocks, whose series are missing; NULL for NULL. They belong to `selection`.
 */
const struct cx_failures *cx_set_selection_failures(const struct cx_set_selection *selection);

/**
 * Frees a selection, or does nothing for NULL.
 */
void cx_set_selection_free(struct cx_set_selection *selection);

/**
 * Returns the number of errors; 0 for NULL.
 */
size_t cx_failures_count(const struct cx_failures *failures);

/**
 * Writes the error at `position` to `failure`. Returns false, and writes nothing, if it is out of range.
 */
bool cx_failures_get(const struct cx_failures *failures, size_t position, struct cx_error *failure);

/**
 * Makes a stream of Arrow record batches of a selection: a column `series_ref`, with an underscore before it if a
 * label has this name, and a column per label, or one map of all. Strings are those of the block, without copies.
 *
 * The consumer releases the stream, and each schema and array that it takes from it, as the Arrow C stream interface
 * says. They keep the block open. If the call fails, `stream` is marked as released.
 */
cx_status cx_selection_arrow_stream(const struct cx_selection *selection,
                                    const struct cx_arrow_options *options,
                                    struct ArrowArrayStream *stream,
                                    struct cx_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CHRONOXIDE_H */
