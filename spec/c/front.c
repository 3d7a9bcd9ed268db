// Header and directory (section 3) and checksums (section 4).

#include <string.h>

#include "block.h"

enum { HEADER_LEN = 64, ENTRY_LEN = 24, LAST_REQUIRED_KIND = 7, REQUIRED_COUNT = 6 };

static void verify_header(struct block *block) {
    static const uint8_t magic[] = {0x89, 'C', 'X', 'B', '\r', '\n', 0x1A, '\n'};
    struct bytes file = block->file;
    struct header *header = &block->header;
    MUST(block, file.length >= sizeof magic && memcmp(file.at, magic, sizeof magic) == 0, "magic", "not a block");
    MUST(block, file.length >= HEADER_LEN, "file-len", "the file has no room for the header");
    MUST(block, crc_update(0, slice(file, 0, 60)) == number_at(file, 60, 4), "header-checksum",
         "the header is damaged");
    header->major = (uint16_t)number_at(file, 8, 2);
    header->minor = (uint16_t)number_at(file, 10, 2);
    MUST(block, header->major == 1, "version", "version %d.%d, this reader knows 1",
         header->major, header->minor);
    header->incompat = (uint32_t)number_at(file, 12, 4);
    MUST(block, header->incompat == 0, "incompat-features", "unknown features %08" PRIX32, header->incompat);
    uint64_t file_len = number_at(file, 40, 8);
    MUST(block, file_len == file.length, "file-len", "the header says %" PRIu64 " bytes, the file has %" PRIu64,
         file_len, file.length);
    header->ro_compat = (uint32_t)number_at(file, 16, 4);
    header->compat = (uint32_t)number_at(file, 20, 4);
    header->block_id = slice(file, 24, 16);
    header->section_count = (uint32_t)number_at(file, 48, 4);
    header->front_checksum = (uint32_t)number_at(file, 52, 4);
    header->checks_checksum = (uint32_t)number_at(file, 56, 4);
}

static void verify_directory(struct block *block) {
    struct bytes file = block->file;
    uint64_t count = block->header.section_count;
    uint64_t directory_end = HEADER_LEN + ENTRY_LEN * count;
    MUST(block, count >= 1 && count <= MAX_SECTIONS, "directory-extent", "%" PRIu64 " sections", count);
    MUST(block, directory_end <= file.length, "directory-extent", "the directory ends behind the file");
    uint64_t first_length = number_at(file, HEADER_LEN + 16, 8);
    MUST(block, first_length <= MAX_META_LEN && first_length <= file.length - directory_end, "directory-extent",
         "the first section has %" PRIu64 " bytes", first_length);
    uint32_t crc = crc_update(0, block->header.block_id);
    crc = crc_update(crc, slice(file, HEADER_LEN, directory_end - HEADER_LEN + first_length));
    MUST(block, crc == block->header.front_checksum, "front-checksum", "directory or first section is damaged");

    block->sections = allocate(block, count, sizeof *block->sections);
    for (uint64_t n = 0; n < count; n++) {
        struct section *section = &block->sections[n];
        section->kind = (uint32_t)number_at(file, HEADER_LEN + n * ENTRY_LEN, 4);
        section->id = (uint32_t)number_at(file, HEADER_LEN + n * ENTRY_LEN + 4, 4);
        section->offset = number_at(file, HEADER_LEN + n * ENTRY_LEN + 8, 8);
        MUST(block, section->kind >= OPTIONAL_KIND || (section->kind >= 1 && section->kind <= LAST_REQUIRED_KIND),
             "section-unknown", "unknown section of kind %" PRIu32, section->kind);
    }
    for (uint64_t n = 1; n < count; n++) {
        struct section *before = &block->sections[n - 1], *section = &block->sections[n];
        MUST(block, before->kind < section->kind || (before->kind == section->kind && before->id < section->id),
             "section-order", "section %" PRIu64 " is out of order", n);
    }
    uint64_t position = directory_end;
    for (uint64_t n = 0; n < count; n++) {
        uint64_t length = number_at(file, HEADER_LEN + n * ENTRY_LEN + 16, 8);
        MUST(block, block->sections[n].offset == position && length <= file.length - position, "section-extent",
             "section %" PRIu64 " does not lie behind the one before it in the file", n);
        block->sections[n].content = slice(file, position, length);
        position += length;
    }
    // Kinds increase, so the required ones are the first.
    bool all_are_there = count >= REQUIRED_COUNT;
    for (uint32_t n = 0; all_are_there && n < REQUIRED_COUNT; n++) {
        all_are_there = block->sections[n].kind == n + 1 && block->sections[n].id == 0;
    }
    MUST(block, all_are_there && (count == REQUIRED_COUNT || block->sections[REQUIRED_COUNT].kind >= OPTIONAL_KIND),
         "section-required", "sections of the kinds 1 to 6 must be there once, and none of kind 7");
    block->checks_offset = position;
}

static uint32_t crc_update_number(uint32_t crc, uint64_t number) {
    uint8_t bytes[8];
    for (unsigned n = 0; n < 8; n++) bytes[n] = (uint8_t)(number >> (8 * n));
    return crc_update(crc, (struct bytes){bytes, 8});
}

static void verify_checks(struct block *block) {
    struct bytes file = block->file;
    uint64_t begin = block->sections[0].offset + block->sections[0].content.length, end = block->checks_offset;
    block->chunk_count = end / CHUNK_LEN + (end % CHUNK_LEN != 0);
    MUST(block, (file.length - end) % 4 == 0 && (file.length - end) / 4 == block->chunk_count, "checks-length",
         "%" PRIu64 " bytes for the checksums of %" PRIu64 " chunks", file.length - end, block->chunk_count);
    struct bytes checks = slice(file, end, 4 * block->chunk_count);
    uint32_t id_crc = crc_update(0, block->header.block_id);
    MUST(block, crc_update(crc_update_number(id_crc, UINT64_MAX), checks) == block->header.checks_checksum,
         "checks-checksum", "the checks are damaged");
    for (uint64_t chunk = 0; chunk < block->chunk_count; chunk++) {
        uint64_t from = chunk * CHUNK_LEN, to = from + CHUNK_LEN;
        if (to > end) to = end;
        if (from < begin) from = begin < to ? begin : to;
        uint32_t crc = crc_update(crc_update_number(id_crc, chunk), slice(file, from, to - from));
        MUST(block, crc == number_at(checks, 4 * chunk, 4), "chunk-checksum", "chunk %" PRIu64 " is damaged", chunk);
    }
}

void verify_front(struct block *block) {
    verify_header(block);
    verify_directory(block);
    verify_checks(block);
    block->catalogue = block->sections[1].content;
    block->symbols = block->sections[2].content;
    block->rows = block->sections[3].content;
    block->members = block->sections[4].content;
    block->arena = block->sections[5].content;
}
