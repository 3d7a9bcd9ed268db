// List pools (section 8).

#include "block.h"

static uint64_t list_end(const struct block *block, const struct pool *pool, uint64_t list) {
    unsigned width = width_of(pool->member_count);
    return bits_at(block->members, pool->ends_bit + list * width, width);
}

struct list list_at(const struct block *block, const struct pool *pool, uint64_t number) {
    uint64_t before = number == 0 ? 0 : list_end(block, pool, number - 1);
    struct list list = {.pool = pool, .count = list_end(block, pool, number) - before};
    list.low_bit = pool->members_bit + before * pool->low_width;
    if (pool->upper_max != 0) list.low_bit += before + number * pool->upper_max;
    list.upper_bit = list.low_bit + list.count * pool->low_width;
    list.upper_end = pool->upper_max == 0 ? list.upper_bit : list.upper_bit + list.count + pool->upper_max;
    return list;
}

// Returns the next member of a list.
uint64_t next_member(const struct block *block, struct list *list) {
    unsigned low_width = list->pool->low_width;
    uint64_t low = bits_at(block->members, list->low_bit, low_width);
    list->low_bit += low_width;
    while (list->upper_bit < list->upper_end && bits_at(block->members, list->upper_bit++, 1) == 0) list->zeros++;
    return list->zeros << low_width | low;
}

// Returns true if the list comes after the one before it: member by member, and after its own beginnings.
static bool is_after(const struct block *block, struct list before, struct list list) {
    uint64_t both = before.count < list.count ? before.count : list.count;
    for (uint64_t n = 0; n < both; n++) {
        uint64_t left = next_member(block, &before), right = next_member(block, &list);
        if (left != right) return left < right;
    }
    return before.count < list.count;
}

static void verify_list(struct block *block, uint32_t p, uint64_t number) {
    const struct pool *pool = &block->pools[p];
    struct list list = list_at(block, pool, number);
    if (pool->upper_max != 0) {
        MUST(block, list.count + pool->upper_max <= MAX_UPPER_BITS, "list-upper",
             "list %" PRIu64 " of pool %" PRIu32 " has too many upper bits", number, p);
        uint64_t ones = 0;
        for (uint64_t bit = list.upper_bit; bit < list.upper_end; bit++) ones += bits_at(block->members, bit, 1);
        MUST(block, ones == list.count, "list-upper", "list %" PRIu64 " of pool %" PRIu32 " has %" PRIu64 " ones",
             number, p, ones);
    }
    struct list members = list;
    uint64_t before = 0;
    for (uint64_t n = 0; n < members.count; n++) {
        uint64_t member = next_member(block, &members);
        MUST(block, (n == 0 || member > before) && member < block->tables[pool->table].row_count, "list-members",
             "member %" PRIu64 " in list %" PRIu64 " of pool %" PRIu32, member, number, p);
        before = member;
    }
    MUST(block, number == 0 || is_after(block, list_at(block, pool, number - 1), list), "list-order",
         "list %" PRIu64 " of pool %" PRIu32 " is out of order", number, p);
}

// Verifies a pool. Returns the position behind it.
static uint64_t verify_pool(struct block *block, uint32_t p, uint64_t position) {
    struct pool *pool = &block->pools[p];
    uint64_t length = block->members.length, lists = pool->list_count, members = pool->member_count;
    uint64_t greatest = block->tables[pool->table].row_count - 1u;
    MUST(block, pool->offset == position, "members-extent", "pool %" PRIu32 " should be at %" PRIu64, p, position);
    MUST(block, pool->low_width <= 32, "list-upper", "low bits of pool %" PRIu32, p);
    pool->upper_max = greatest >> pool->low_width;
    if (pool->upper_max == 0 && block->meta.row_form <= BIT_PACKED) {
        unsigned width = row_form_width(block->meta.row_form, width_of(greatest));
        MUST(block, pool->low_width == width, "column-width", "members of pool %" PRIu32 " should have %u bits", p,
             width);
    }
    uint64_t ends_bits = lists * width_of(members), member_bits = members * pool->low_width;
    uint64_t members_at = position + whole_bytes(ends_bits);
    if (pool->upper_max != 0) {
        MUST(block, lists <= 8 * length / pool->upper_max, "members-extent", "pool %" PRIu32 " ends too late", p);
        member_bits += members + lists * pool->upper_max;
    }
    uint64_t end = members_at + whole_bytes(member_bits);
    MUST(block, end + CLOSING_LEN <= length, "members-extent", "pool %" PRIu32 " ends at %" PRIu64, p, end);
    pool->ends_bit = 8 * position;
    pool->members_bit = 8 * members_at;
    MUST(block, bits_are_zero(block->members, 8 * position + ends_bits, 8 * members_at) &&
                    bits_are_zero(block->members, 8 * members_at + member_bits, 8 * end),
         "members-padding", "in pool %" PRIu32, p);
    for (uint64_t list = 0, before = 0; list < lists; list++) {
        uint64_t list_members_end = list_end(block, pool, list);
        MUST(block, list_members_end > before && list_members_end <= members, "pool-lists",
             "list %" PRIu64 " of pool %" PRIu32 " ends at member %" PRIu64, list, p, list_members_end);
        before = list_members_end;
    }
    MUST(block, list_end(block, pool, lists - 1) == members, "pool-lists", "lists of pool %" PRIu32 " end early", p);
    for (uint64_t list = 0; list < lists; list++) verify_list(block, p, list);
    return end;
}

// Verifies pools and the place of the anchors behind them. What anchors say is verified with the series.
void verify_lists(struct block *block) {
    uint64_t position = 0, length = block->members.length;
    if (block->pool_count == 0) MUST(block, length == 0, "members-extent", "%" PRIu64 " bytes without pools", length);
    for (uint32_t p = 0; p < block->pool_count; p++) position = verify_pool(block, p, position);
    for (uint32_t s = 0; s < block->keyset_count; s++) {
        const struct keyset *keyset = &block->keysets[s];
        const struct table *table = &block->tables[inner_table_end(block) + s];
        bool has_lists = list_column(table) != NULL;
        MUST(block, keyset->anchors == (has_lists ? position : 0), "members-extent",
             "anchors of keyset %" PRIu32 " are at %" PRIu64, s, keyset->anchors);
        MUST(block, keyset->series_end > keyset->first_series, "keyset-series", "keyset %" PRIu32 " has no series", s);
        if (!has_lists) continue;
        uint64_t anchors = (table->row_count + (uint64_t)ANCHOR_ROWS - 1) / ANCHOR_ROWS;
        uint64_t bits = anchors * width_of(keyset->series_end - keyset->first_series);
        uint64_t end = position + whole_bytes(bits);
        MUST(block, end + CLOSING_LEN <= length, "members-extent", "anchors of keyset %" PRIu32 " end too late", s);
        MUST(block, bits_are_zero(block->members, 8 * position + bits, 8 * end), "members-padding",
             "behind anchors of keyset %" PRIu32, s);
        position = end;
    }
    if (block->pool_count == 0) return;
    MUST(block, position + CLOSING_LEN == length, "members-extent", "pools and anchors end at %" PRIu64, position);
    MUST(block, bits_are_zero(block->members, 8 * position, 8 * length), "members-padding", "closing bytes");
}
