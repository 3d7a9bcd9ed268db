// Meta (section 10).

#include "block.h"

enum { PAIR_LEN = 4, LEAST_POLICY = 18 };

struct bytes meta_content(const struct block *block) { return block->sections[0].content; }

// Reads an external label or an annotation. Returns the position behind it.
uint64_t read_pair(struct bytes meta, uint64_t offset, struct bytes *key, struct bytes *value) {
    uint64_t key_len = number_at(meta, offset, 2), value_len = number_at(meta, offset + 2, 2);
    *key = slice(meta, offset + PAIR_LEN, key_len);
    *value = slice(meta, offset + PAIR_LEN + key_len, value_len);
    return offset + PAIR_LEN + key_len + value_len;
}

// Compares numbers in two's complement.
bool is_less_signed(uint64_t left, uint64_t right) { return (left ^ (uint64_t)1 << 63) < (right ^ (uint64_t)1 << 63); }

static void verify_range(struct block *block, bool is_known, uint64_t start, uint64_t end, const char *name) {
    MUST(block, is_known ? is_less_signed(start, end) : start == 0 && end == 0, "meta-time",
         "the %s is empty, or unknown and not 0", name);
}

static struct bytes block_id_at(struct bytes meta, uint64_t number) {
    return slice(meta, META_LEN + number * ID_LEN, ID_LEN);
}

static void verify_parents(struct block *block, struct bytes meta) {
    uint64_t parents = block->meta.parent_count, all = parents + block->meta.ancestor_count;
    for (uint64_t n = 1; n < all; n++) {
        MUST(block, n == parents || compare_bytes(block_id_at(meta, n - 1), block_id_at(meta, n)) < 0, "meta-parents",
             "parent or ancestor %" PRIu64 " is out of order", n);
    }
    // If one of the lists is out of order, this can miss a block, but the rule is broken already.
    for (uint64_t parent = 0, ancestor = parents; parent < parents && ancestor < all;) {
        int order = compare_bytes(block_id_at(meta, parent), block_id_at(meta, ancestor));
        MUST(block, order != 0, "meta-parents", "parent %" PRIu64 " is an ancestor, too", parent);
        if (order <= 0) parent++;
        if (order >= 0) ancestor++;
    }
}

static uint64_t verify_pairs(struct block *block, struct bytes content, uint64_t offset, uint32_t count,
                             bool may_be_empty) {
    struct bytes before = {content.at, 0};
    for (uint32_t n = 0; n < count; n++) {
        struct bytes key, value;
        MUST(block, offset + PAIR_LEN <= content.length, "meta-length", "pair %" PRIu32 " is cut off", n);
        offset = read_pair(content, offset, &key, &value);
        MUST(block, offset <= content.length, "meta-length", "pair %" PRIu32 " is cut off", n);
        // An empty key never comes after the key before it, and not after nothing.
        MUST(block, compare_bytes(before, key) < 0, "meta-pairs", "key %" PRIu32 " is empty or out of order", n);
        MUST(block, may_be_empty || value.length != 0, "meta-pairs", "value %" PRIu32 " is empty", n);
        MUST(block, is_utf8(key) && is_utf8(value), "meta-pairs", "pair %" PRIu32 " is not UTF-8", n);
        before = key;
    }
    return offset;
}

void verify_meta(struct block *block) {
    struct bytes content = meta_content(block);
    struct meta *meta = &block->meta;
    MUST(block, content.length >= META_LEN, "meta-length", "the section does not hold its header");
    meta->series_count = number_at(content, 0, 8);
    meta->label_count = number_at(content, 8, 8);
    meta->fingerprint[0] = number_at(content, 16, 8);
    meta->fingerprint[1] = number_at(content, 24, 8);
    meta->time_start = number_at(content, 32, 8);
    meta->time_end = number_at(content, 40, 8);
    meta->window_start = number_at(content, 48, 8);
    meta->window_end = number_at(content, 56, 8);
    meta->job_id = slice(content, 64, ID_LEN);
    meta->job_output = (uint32_t)number_at(content, 80, 4);
    meta->job_output_count = (uint32_t)number_at(content, 84, 4);
    meta->parent_count = (uint32_t)number_at(content, 88, 4);
    meta->ancestor_count = (uint32_t)number_at(content, 92, 4);
    meta->external_label_count = (uint32_t)number_at(content, 96, 4);
    meta->annotation_count = (uint32_t)number_at(content, 100, 4);
    meta->max_name_len = (uint32_t)number_at(content, 104, 4);
    meta->max_value_len = (uint32_t)number_at(content, 108, 4);
    meta->planner_version = (uint32_t)number_at(content, 112, 4);
    meta->row_form = content.at[116];
    uint8_t flags = content.at[117];
    meta->has_time = (flags & 1) != 0;
    meta->has_window = (flags & 2) != 0;

    MUST(block, meta->row_form <= BIT_PACKED && flags <= 3 && number_at(content, 118, 2) == 0, "meta-padding",
         "row form %d, flags %d and reserved bytes", meta->row_form, flags);
    verify_range(block, meta->has_time, meta->time_start, meta->time_end, "time range");
    verify_range(block, meta->has_window, meta->window_start, meta->window_end, "window");
    bool has_job_id = !bits_are_zero(meta->job_id, 0, 8 * ID_LEN);
    MUST(block, meta->job_output_count == 0 ? !has_job_id && meta->job_output == 0
                                            : has_job_id && meta->job_output < meta->job_output_count,
         "meta-job", "output %" PRIu32 " of %" PRIu32, meta->job_output, meta->job_output_count);
    uint64_t id_count = (uint64_t)meta->parent_count + meta->ancestor_count;
    MUST(block, id_count <= (content.length - META_LEN) / ID_LEN, "meta-length", "parents are cut off");
    verify_parents(block, content);
    uint64_t offset = META_LEN + id_count * ID_LEN;
    offset = verify_pairs(block, content, offset, meta->external_label_count, false);
    offset = verify_pairs(block, content, offset, meta->annotation_count, true);
    MUST(block, offset == content.length, "meta-length", "the section ends behind its content");
    MUST(block, meta->max_name_len >= LEAST_POLICY && meta->max_name_len <= MAX_SYMBOL_LEN &&
                    meta->max_value_len >= LEAST_POLICY && meta->max_value_len <= MAX_SYMBOL_LEN,
         "meta-policy", "at most %" PRIu32 " and %" PRIu32 " bytes", meta->max_name_len, meta->max_value_len);
}
