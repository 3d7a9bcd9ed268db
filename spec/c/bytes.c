// Numbers, bit streams and texts (section 1). Numbers are read byte by byte, so the byte order of the machine does not
// matter. Bytes that are not there read as zero: callers check lengths first, and an error in such a check must not
// become a read outside of the file.

#include <string.h>

#include "block.h"

struct bytes slice(struct bytes bytes, uint64_t offset, uint64_t length) {
    if (offset > bytes.length) offset = bytes.length;
    if (length > bytes.length - offset) length = bytes.length - offset;
    return (struct bytes){bytes.at + offset, length};
}

uint64_t number_at(struct bytes bytes, uint64_t offset, unsigned size) {
    uint64_t number = 0;
    for (unsigned n = 0; n < size; n++) {
        if (offset + n < bytes.length) number |= (uint64_t)bytes.at[offset + n] << (8 * n);
    }
    return number;
}

// Returns a field of at most 64 bits.
uint64_t bits_at(struct bytes bytes, uint64_t bit, unsigned width) {
    uint64_t number = 0;
    for (unsigned done = 0; done < width;) {
        unsigned shift = (unsigned)(bit % 8), taken = 8 - shift;
        if (taken > width - done) taken = width - done;
        uint64_t byte = bit / 8 < bytes.length ? bytes.at[bit / 8] : 0;
        number |= (byte >> shift & ((1u << taken) - 1)) << done;
        done += taken;
        bit += taken;
    }
    return number;
}

bool bits_are_zero(struct bytes bytes, uint64_t bit, uint64_t end_bit) {
    while (bit < end_bit) {
        unsigned width = end_bit - bit < 64 ? (unsigned)(end_bit - bit) : 64;
        if (bits_at(bytes, bit, width) != 0) return false;
        bit += width;
    }
    return true;
}

uint64_t whole_bytes(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

unsigned width_of(uint64_t largest) {
    unsigned width = 0;
    for (; largest != 0; largest >>= 1) width++;
    return width;
}

int compare_bytes(struct bytes left, struct bytes right) {
    uint64_t shorter = left.length < right.length ? left.length : right.length;
    int order = shorter == 0 ? 0 : memcmp(left.at, right.at, (size_t)shorter);
    if (order != 0) return order;
    return left.length < right.length ? -1 : left.length > right.length;
}

bool is_utf8(struct bytes text) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (uint64_t position = 0; position < text.length;) {
        uint8_t first = text.at[position];
        if ((first >= 0x80 && first < 0xC0) || first >= 0xF8) return false;
        unsigned length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if (length > text.length - position) return false;
        uint32_t character = length == 1 ? first : first & (0x7Fu >> length);
        for (unsigned n = 1; n < length; n++) {
            uint8_t next = text.at[position + n];
            if ((next & 0xC0) != 0x80) return false;
            character = character << 6 | (next & 0x3Fu);
        }
        if (character < least[length] || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) {
            return false;
        }
        position += length;
    }
    return true;
}

// CRC-32/ISO-HDLC. The CRC of nothing is 0; the CRC of a, b is crc_update(crc_update(0, a), b).
uint32_t crc_update(uint32_t crc, struct bytes bytes) {
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t n = 0; n < 256; n++) {
            table[n] = n;
            for (int bit = 0; bit < 8; bit++) table[n] = table[n] >> 1 ^ (table[n] & 1 ? 0xEDB88320u : 0);
        }
    }
    crc = ~crc;
    for (uint64_t n = 0; n < bytes.length; n++) crc = crc >> 8 ^ table[(crc ^ bytes.at[n]) & 0xFF];
    return ~crc;
}

struct records records_at(struct bytes bytes, uint64_t offset, uint64_t count, const uint8_t *widths,
                          unsigned field_count) {
    struct records records = {.bytes = bytes, .first_bit = 8 * offset, .count = count, .field_count = field_count};
    for (unsigned field = 0; field < field_count; field++) {
        records.widths[field] = widths[field];
        records.record_bits += widths[field];
    }
    return records;
}

uint64_t record_field(const struct records *records, uint64_t record, unsigned field) {
    uint64_t bit = records->first_bit + record * records->record_bits;
    for (unsigned before = 0; before < field; before++) bit += records->widths[before];
    return bits_at(records->bytes, bit, records->widths[field]);
}

// Returns the position of the first byte behind the records.
uint64_t records_end(const struct records *records) {
    return records->first_bit / 8 + whole_bytes(records->count * records->record_bits);
}

// Returns true if each width is width(the largest value of the field).
bool records_have_exact_widths(const struct records *records) {
    if (records->record_bits == 0) return true;
    for (unsigned field = 0; field < records->field_count; field++) {
        uint64_t united = 0; // has the same width as the largest value
        for (uint64_t record = 0; record < records->count; record++) united |= record_field(records, record, field);
        if (records->widths[field] != width_of(united)) return false;
    }
    return true;
}

bool records_have_zero_padding(const struct records *records) {
    uint64_t end_bit = records->first_bit + records->count * records->record_bits;
    return bits_are_zero(records->bytes, end_bit, 8 * records_end(records));
}
