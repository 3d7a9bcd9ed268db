// Metric metadata: METRICS.md.

#include <stdio.h>

#include "block.h"

enum { METRICS_LEN = 16, MAX_METRIC_TEXT_LEN = 65535 };
enum { METRIC_NAME, METRIC_TYPE, METRIC_TEMPORALITY, METRIC_MONOTONIC, METRIC_UNIT, METRIC_DESCRIPTION, METRIC_FIELDS };

struct metrics {
    uint64_t row_count, text_count;
    struct records rows, ends;
    struct bytes texts;
};

static const struct section *find_section(const struct block *block) {
    for (uint32_t n = 0; n < block->header.section_count; n++) {
        if (block->sections[n].kind == METRIC_KIND) return &block->sections[n];
    }
    return NULL;
}

static uint64_t text_end(const struct metrics *metrics, uint64_t texts) {
    return texts == 0 ? 0 : record_field(&metrics->ends, texts - 1, 0);
}

// Returns the text that a field names: the empty text for 0, text n - 1 for n.
static struct bytes text_of(const struct metrics *metrics, uint64_t number) {
    if (number == 0) return slice(metrics->texts, 0, 0);
    uint64_t start = text_end(metrics, number - 1);
    return slice(metrics->texts, start, text_end(metrics, number) - start);
}

// Lays out a section that holds its header. The texts are what is behind the arrays.
static struct metrics read_metrics(struct bytes section) {
    struct metrics metrics = {.row_count = number_at(section, 0, 4), .text_count = number_at(section, 4, 4)};
    metrics.rows = records_at(section, METRICS_LEN, metrics.row_count, section.at + 8, METRIC_FIELDS);
    metrics.ends = records_at(section, records_end(&metrics.rows), metrics.text_count, section.at + 14, 1);
    metrics.texts = slice(section, records_end(&metrics.ends) + CLOSING_LEN, section.length);
    return metrics;
}

static void verify_texts(struct block *block, const struct metrics *metrics) {
    for (uint64_t n = 1; n <= metrics->text_count; n++) {
        uint64_t start = text_end(metrics, n - 1), end = text_end(metrics, n);
        MUST(block, end > start && end - start <= MAX_METRIC_TEXT_LEN, "metric-text-ends",
             "text %" PRIu64 " ends at %" PRIu64, n - 1, end);
    }
    uint64_t length = text_end(metrics, metrics->text_count);
    MUST(block, length == metrics->texts.length, "metric-length", "texts have %" PRIu64 " bytes, not %" PRIu64,
         metrics->texts.length, length);
    for (uint64_t n = 1; n <= metrics->text_count; n++) {
        struct bytes text = text_of(metrics, n);
        MUST(block, is_utf8(text), "metric-text-utf8", "text %" PRIu64 " is not UTF-8", n - 1);
        MUST(block, n == 1 || compare_bytes(text_of(metrics, n - 1), text) < 0, "metric-text-order",
             "text %" PRIu64 " is out of order", n - 1);
    }
}

static void verify_metric_rows(struct block *block, const struct metrics *metrics) {
    uint8_t *is_used = allocate(block, metrics->text_count + 1, 1);
    for (uint64_t row = 0; row < metrics->row_count; row++) {
        bool is_greater = row == 0;
        for (unsigned field = 0; field < METRIC_FIELDS; field++) {
            uint64_t number = record_field(&metrics->rows, row, field);
            if (!is_greater) {
                uint64_t before = record_field(&metrics->rows, row - 1, field);
                MUST(block, number >= before, "metric-order", "row %" PRIu64 " is out of order", row);
                is_greater = number > before;
            }
            if (field == METRIC_NAME || field == METRIC_UNIT || field == METRIC_DESCRIPTION) {
                MUST(block, number <= metrics->text_count && (number != 0 || field != METRIC_NAME), "metric-values",
                     "row %" PRIu64 " has text %" PRIu64, row, number);
                is_used[number] = 1;
            }
        }
        MUST(block, is_greater, "metric-order", "row %" PRIu64 " is there twice", row);
    }
    for (uint64_t n = 1; n <= metrics->text_count; n++) {
        MUST(block, is_used[n], "metric-text-used", "text %" PRIu64, n - 1);
    }
}

void verify_metrics(struct block *block) {
    const struct section *section = find_section(block);
    if (section == NULL) return;
    // There may be several: not all of them can have the id 0.
    bool is_alone = section == &block->sections[block->header.section_count - 1] || section[1].kind != METRIC_KIND;
    MUST(block, section->id == 0 && is_alone, "metric-header", "a section has another id than 0");
    struct bytes content = section->content;
    MUST(block, content.length >= METRICS_LEN, "metric-header", "the section does not hold its header");
    struct metrics metrics = read_metrics(content);
    bool has_widths = metrics.ends.widths[0] <= 48;
    for (unsigned n = 0; n < METRIC_FIELDS; n++) has_widths = has_widths && metrics.rows.widths[n] <= 32;
    MUST(block, has_widths, "metric-header", "a width is too large");
    MUST(block, metrics.row_count >= 1, "metric-header", "there are no rows");
    MUST(block, (metrics.row_count == 1 || metrics.rows.record_bits != 0) &&
                    (metrics.text_count <= 1 || metrics.ends.record_bits != 0),
         "metric-header", "records of 0 bits");
    uint64_t arrays_end = records_end(&metrics.ends);
    MUST(block, arrays_end + CLOSING_LEN <= content.length, "metric-length", "the section ends before its texts");
    verify_texts(block, &metrics);
    verify_metric_rows(block, &metrics);
    MUST(block, records_have_exact_widths(&metrics.rows) && records_have_exact_widths(&metrics.ends), "metric-widths",
         "widths of fields");
    MUST(block, content.at[15] == 0 && records_have_zero_padding(&metrics.rows) &&
                    records_have_zero_padding(&metrics.ends) &&
                    bits_are_zero(content, 8 * arrays_end, 8 * (arrays_end + CLOSING_LEN)),
         "metric-padding", "bits without a use are not zero");
}

static void print_word(const char *const *words, unsigned word_count, uint64_t number) {
    if (number < word_count) {
        printf(" %s", words[number]);
    } else {
        printf(" unknown-%" PRIu64, number);
    }
}

void dump_metrics(struct block *block) {
    static const char *const types[] = {"unknown", "gauge",           "sum",  "histogram", "exponential-histogram",
                                        "summary", "gauge-histogram", "info", "state-set"};
    static const char *const temporalities[] = {"unspecified", "delta", "cumulative"};
    static const char *const monotonic[] = {"not-monotonic", "monotonic"};
    const struct section *section = find_section(block);
    if (section == NULL) return;
    struct metrics metrics = read_metrics(section->content);
    printf("metrics %" PRIu64 "\n", metrics.row_count);
    for (uint64_t row = 0; row < metrics.row_count; row++) {
        printf("  %" PRIu64 " ", row);
        print_quoted(text_of(&metrics, record_field(&metrics.rows, row, METRIC_NAME)));
        print_word(types, 9, record_field(&metrics.rows, row, METRIC_TYPE));
        print_word(temporalities, 3, record_field(&metrics.rows, row, METRIC_TEMPORALITY));
        print_word(monotonic, 2, record_field(&metrics.rows, row, METRIC_MONOTONIC));
        putchar(' ');
        print_quoted(text_of(&metrics, record_field(&metrics.rows, row, METRIC_UNIT)));
        putchar(' ');
        print_quoted(text_of(&metrics, record_field(&metrics.rows, row, METRIC_DESCRIPTION)));
        putchar('\n');
    }
}
