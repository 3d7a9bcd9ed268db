// Broken rules (sections 1 and 15), and memory that is freed together.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

// Rules of class C. All others are of class R.
static const char *const CANONICAL_RULES[] = {
    "catalogue-widths", "catalogue-padding", "symbols-widths", "symbols-padding", "symbols-used",    "column-width",
    "rows-padding",     "leaves-needed",     "columns-order",  "rows-used",       "pool-order",      "list-order",
    "list-used",        "members-padding",   "meta-padding",   "meta-parents",    "metric-widths",   "metric-padding",
    "metric-text-used", "value-widths",      "value-padding",  "value-texts-used",
};

static const char *const UNSUPPORTED_RULES[] = {"version", "incompat-features", "section-unknown"};

struct allocation {
    struct allocation *next;
};

bool is_canonical_rule(const char *rule) {
    for (size_t n = 0; n < sizeof CANONICAL_RULES / sizeof *CANONICAL_RULES; n++) {
        if (strcmp(rule, CANONICAL_RULES[n]) == 0) return true;
    }
    return false;
}

int exit_code_of_rule(const char *rule) {
    for (size_t n = 0; n < sizeof UNSUPPORTED_RULES / sizeof *UNSUPPORTED_RULES; n++) {
        if (strcmp(rule, UNSUPPORTED_RULES[n]) == 0) return 4;
    }
    return 3;
}

// Ends verification at the first broken rule of class R. A rule of class C is noted and verification goes on, since a
// rule of class R is preferred. With a bit in `ro_compat`, all of which are unknown, class C is not judged.
void break_rule(struct block *block, const char *rule, const char *reason, ...) {
    bool is_canonical = is_canonical_rule(rule);
    if (is_canonical && (block->header.ro_compat != 0 || block->rule != NULL)) return;
    block->rule = rule;
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(block->reason, sizeof block->reason, reason, arguments);
    va_end(arguments);
    if (!is_canonical) longjmp(block->refused, 1);
}

// Returns zeroed memory that lives as long as the block.
void *allocate(struct block *block, uint64_t count, size_t size) {
    size_t offset = sizeof(struct allocation) + 8; // keeps 8-byte alignment on machines with pointers of 4 bytes
    offset -= offset % 8;
    struct allocation *allocation = NULL;
    if (count <= (SIZE_MAX - offset) / size) allocation = calloc(1, offset + (size_t)count * size);
    if (allocation == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    allocation->next = block->allocations;
    block->allocations = allocation;
    return (char *)allocation + offset;
}

void free_allocations(struct block *block) {
    while (block->allocations != NULL) {
        struct allocation *next = block->allocations->next;
        free(block->allocations);
        block->allocations = next;
    }
}
