// Symbols (section 6).

#include "block.h"

enum { SYMBOLS_LEN = 8 };

static uint64_t entry_bit(const struct block *block, uint64_t entry) {
    uint64_t group = entry / SYMBOL_GROUP, place = entry % SYMBOL_GROUP;
    uint64_t base = block->symbol_base_width, difference = block->symbol_difference_width;
    uint64_t bit = group * (base + (SYMBOL_GROUP - 1) * difference);
    return 8 * SYMBOLS_LEN + bit + (place == 0 ? 0 : base + (place - 1) * difference);
}

static uint64_t entry_field(const struct block *block, uint64_t entry) {
    bool is_base = entry % SYMBOL_GROUP == 0;
    return bits_at(block->symbols, entry_bit(block, entry),
                   is_base ? block->symbol_base_width : block->symbol_difference_width);
}

uint64_t symbol_start(const struct block *block, uint64_t entry) {
    uint64_t base = entry_field(block, entry - entry % SYMBOL_GROUP);
    return entry % SYMBOL_GROUP == 0 ? base : base + entry_field(block, entry);
}

struct bytes symbol(const struct block *block, uint64_t id) {
    uint64_t start = symbol_start(block, id);
    return slice(block->arena, start, symbol_start(block, id + 1) - start);
}

void verify_symbols(struct block *block) {
    struct bytes section = block->symbols;
    MUST(block, section.length >= SYMBOLS_LEN, "symbols-header", "the section does not hold its header");
    uint64_t count = block->symbol_count = (uint32_t)number_at(section, 0, 4);
    block->symbol_base_width = section.at[4];
    block->symbol_difference_width = section.at[5];
    MUST(block, section.at[4] <= 48 && section.at[5] <= 24 && (section.at[5] != 0 || count == 0), "symbols-header",
         "widths %d and %d", section.at[4], section.at[5]);
    uint64_t end_bit = entry_bit(block, count + 1), end = whole_bytes(end_bit);
    MUST(block, section.length == end + CLOSING_LEN, "symbols-length", "the section should have %" PRIu64 " bytes",
         end + CLOSING_LEN);
    MUST(block, number_at(section, 6, 2) == 0 && bits_are_zero(section, end_bit, 8 * section.length), "symbols-padding",
         "bits without a use are not zero");

    uint64_t bases = 0, differences = 0; // united: as wide as the largest
    for (uint64_t entry = 0; entry <= count; entry++) {
        *(entry % SYMBOL_GROUP == 0 ? &bases : &differences) |= entry_field(block, entry);
        uint64_t start = symbol_start(block, entry);
        if (entry == 0) {
            MUST(block, start == 0, "symbols-starts", "the first symbol starts at %" PRIu64, start);
            continue;
        }
        uint64_t before = symbol_start(block, entry - 1);
        MUST(block, start > before && start - before <= MAX_SYMBOL_LEN, "symbols-starts",
             "symbol %" PRIu64 " ends at %" PRIu64 ", after %" PRIu64, entry - 1, start, before);
    }
    MUST(block, symbol_start(block, count) == block->arena.length, "symbols-starts",
         "the arena has %" PRIu64 " bytes and not %" PRIu64, block->arena.length, symbol_start(block, count));
    MUST(block, section.at[4] == width_of(bases) && section.at[5] == width_of(differences), "symbols-widths",
         "widths should be %d and %d", width_of(bases), width_of(differences));
    for (uint64_t id = 0; id < count; id++) {
        MUST(block, id == 0 || compare_bytes(symbol(block, id - 1), symbol(block, id)) < 0, "symbols-order",
             "symbol %" PRIu64 " is out of order", id);
        MUST(block, is_utf8(symbol(block, id)), "symbols-utf8", "symbol %" PRIu64 " is not UTF-8", id);
    }
}
