// Fingerprint and block id (section 11).

#include <string.h>

#include "block.h"

#define PRIME (((uint64_t)1 << 61) - 1)

// ---- SipHash-2-4 ----

struct sip {
    uint64_t v[4], length, pending;
};

static uint64_t rotated(uint64_t number, int bits) { return number << bits | number >> (64 - bits); }

static void sip_rounds(struct sip *sip, int count) {
    uint64_t *v = sip->v;
    while (count-- > 0) {
        v[0] += v[1], v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0], v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = rotated(v[1], 17) ^ v[2], v[3] = rotated(v[3], 21) ^ v[0];
        v[2] = rotated(v[2], 32);
    }
}

static void sip_word(struct sip *sip, uint64_t word) {
    sip->v[3] ^= word;
    sip_rounds(sip, 2);
    sip->v[0] ^= word;
}

static struct sip sip_start(const char key[17]) {
    struct bytes bytes = {(const uint8_t *)key, 16};
    uint64_t low = number_at(bytes, 0, 8), high = number_at(bytes, 8, 8);
    return (struct sip){{low ^ 0x736F6D6570736575u, high ^ 0x646F72616E646F6Du, low ^ 0x6C7967656E657261u,
                         high ^ 0x7465646279746573u}, 0, 0};
}

static void sip_add(struct sip *sip, struct bytes bytes) {
    for (uint64_t n = 0; n < bytes.length; n++) {
        sip->pending |= (uint64_t)bytes.at[n] << (8 * (sip->length % 8));
        if (++sip->length % 8 != 0) continue;
        sip_word(sip, sip->pending);
        sip->pending = 0;
    }
}

static void sip_add_number(struct sip *sip, uint64_t number, unsigned size) {
    for (unsigned n = 0; n < size; n++) {
        uint8_t byte = (uint8_t)(number >> (8 * n));
        sip_add(sip, (struct bytes){&byte, 1});
    }
}

static uint64_t sip_end(struct sip *sip) {
    sip_word(sip, sip->pending | sip->length << 56);
    sip->v[2] ^= 0xFF;
    sip_rounds(sip, 4);
    return sip->v[0] ^ sip->v[1] ^ sip->v[2] ^ sip->v[3];
}

// ---- Fingerprint ----

static uint64_t sum(uint64_t left, uint64_t right) { return (left + right) % PRIME; }

// Multiplies modulo 2^61 - 1, without numbers of 128 bits: with halves of 32 bits, 2^61 is 1 and 2^64 is 8.
static uint64_t product(uint64_t left, uint64_t right) {
    uint64_t left_high = left >> 32, left_low = left & 0xFFFFFFFF;
    uint64_t right_high = right >> 32, right_low = right & 0xFFFFFFFF;
    uint64_t middle = left_high * right_low + left_low * right_high; // times 2^32
    uint64_t low = left_low * right_low;
    uint64_t total = sum(left_high * right_high * 8 % PRIME, low % PRIME);
    total = sum(total, middle >> 29);
    return sum(total, (middle & 0x1FFFFFFF) << 32);
}

// Starts the hash of the labels with one name: a long name is hashed once, and not for each of its values.
static struct sip name_hash(const char *key, struct bytes name) {
    struct sip sip = sip_start(key);
    sip_add_number(&sip, name.length, 8);
    sip_add(&sip, name);
    return sip;
}

static uint64_t label_hash(struct sip sip, struct bytes value) {
    sip_add(&sip, value);
    return 1 + sip_end(&sip) % (PRIME - 1);
}

// Computes the fingerprint table by table. `products` has a number for each row of a table, `sums` one for each list of
// a pool: the sum over its members.
static uint64_t fingerprint(struct block *block, const char *key) {
    uint64_t **products = allocate(block, block->table_count, sizeof *products);
    uint64_t **sums = allocate(block, block->pool_count, sizeof *sums);
    uint64_t total = 0;
    for (uint32_t t = 0; t < block->table_count; t++) {
        const struct table *table = &block->tables[t];
        bool is_keyset_table = t >= inner_table_end(block);
        if (t == inner_table_end(block)) {
            for (uint32_t p = 0; p < block->pool_count; p++) {
                const struct pool *pool = &block->pools[p];
                sums[p] = allocate(block, pool->list_count, sizeof *sums[p]);
                for (uint64_t number = 0; number < pool->list_count; number++) {
                    struct list list = list_at(block, pool, number);
                    for (uint64_t n = 0; n < list.count; n++) {
                        sums[p][number] = sum(sums[p][number], products[pool->table][next_member(block, &list)]);
                    }
                }
            }
        }
        if (!is_keyset_table) products[t] = allocate(block, table->row_count, sizeof *products[t]);
        struct sip name = {0};
        if (t < block->key_count) name = name_hash(key, symbol(block, key_name(block, t)));
        uint64_t constant = 1; // the product of columns that have one code
        for (uint64_t row = 0; row < table->row_count; row++) {
            uint64_t varying = 1;
            for (unsigned c = 0; c < table->column_count; c++) {
                const struct column *column = &table->columns[c];
                if (row > 0 && column->width == 0) continue;
                uint64_t code = code_at(block, table, row, c);
                uint64_t factor = column->domain == DOMAIN_SYMBOLS ? label_hash(name, symbol(block, code))
                                  : column->domain == DOMAIN_TABLE ? products[column->number][code]
                                                                   : sums[column->number][code];
                uint64_t *target = column->width == 0 ? &constant : &varying;
                *target = product(*target, factor);
            }
            uint64_t row_product = product(constant, varying);
            if (is_keyset_table) {
                total = sum(total, row_product);
            } else {
                products[t][row] = row_product;
            }
        }
    }
    return total;
}

// ---- Block id ----

static void add_material(const struct block *block, struct sip *sip) {
    sip_add(sip, slice(block->file, 8, 16));
    for (uint32_t n = 0; n < block->header.section_count; n++) {
        const struct section *section = &block->sections[n];
        struct sip content = sip_start("chronoxide.sec.0");
        sip_add(&content, section->content);
        sip_add_number(sip, section->kind, 4);
        sip_add_number(sip, section->id, 4);
        sip_add_number(sip, section->content.length, 8);
        sip_add_number(sip, sip_end(&content), 8);
    }
}

static void put_big_endian(uint8_t *at, uint64_t number, unsigned size) {
    for (unsigned n = 0; n < size; n++) at[n] = (uint8_t)(number >> (8 * (size - 1 - n)));
}

// Writes the 26 characters of a ULID: digits of 5 bits of a number of 130 bits, whose upper two are 0.
void block_id_text(struct bytes block_id, char text[27]) {
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    for (int digit = 0; digit < 26; digit++) {
        unsigned value = 0;
        for (int bit = 5 * digit - 2; bit < 5 * digit + 3; bit++) {
            value = value << 1 | (bit < 0 ? 0 : block_id.at[bit / 8] >> (7 - bit % 8) & 1);
        }
        text[digit] = digits[value];
    }
    text[26] = 0;
}

void verify_identity(struct block *block) {
    static const char keys[2][17] = {"chronoxide.fpr.1", "chronoxide.fpr.2"};
    for (int n = 0; n < 2; n++) {
        uint64_t right = fingerprint(block, keys[n]);
        MUST(block, block->meta.fingerprint[n] == right, "fingerprint", "fingerprint_%d should be %016" PRIx64, n + 1,
             right);
    }
    uint64_t start = block->meta.time_start;
    bool has_start = block->meta.has_time && is_less_signed(0, start);
    struct sip first = sip_start("chronoxide.bid.1"), second = sip_start("chronoxide.bid.2");
    add_material(block, &first);
    add_material(block, &second);
    uint8_t id[16];
    put_big_endian(id, has_start ? start / 1000000 : 0, 6);
    put_big_endian(id + 6, sip_end(&first), 8);
    put_big_endian(id + 14, sip_end(&second) >> 48, 2);
    char text[27];
    block_id_text((struct bytes){id, sizeof id}, text);
    MUST(block, compare_bytes((struct bytes){id, sizeof id}, block->header.block_id) == 0, "block-id",
         "the id should be %s", text);
}
