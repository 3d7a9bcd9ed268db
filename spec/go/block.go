package main

// Sections 2 to 4: limits, header and directory, checksums.

import (
	"fmt"
	"hash/crc32"
	"math"
)

const (
	maxSymbolLen     = 65535
	maxLabels        = 1023
	maxColumns       = 1023
	maxDepth         = 4
	maxSections      = 1024
	chunkLen         = 8192
	anchorRows       = 16
	symbolGroup      = 16
	maxMetaLen       = 16777216
	maxMetricTextLen = 65535
	maxPackedWindow  = 8388608
	maxPackedRatio   = 256
	freePackedLen    = 1048576

	magic      = "\x89CXB\r\n\x1a\n"
	headerLen  = 64
	entryLen   = 24
	closingLen = 8 // zero bytes after a bit stream

	kindMeta      = 1
	kindCatalogue = 2
	kindSymbols   = 3
	kindRows      = 4
	kindMembers   = 5
	kindArena     = 6
	kindPacked    = 7
	kindMetrics   = 1<<31 + 1
	firstOptional = 1 << 31
	firstPrivate  = 1<<31 + 1<<30
	afterPrivate  = 1<<31 + 1<<30 + 1<<29

	hasPackedArena = 1 // incompat
)

var sectionNames = map[uint32]string{kindCatalogue: "catalogue", kindMeta: "meta", kindSymbols: "symbols",
	kindRows: "rows", kindMembers: "members", kindArena: "arena", kindPacked: "packed-arena",
	kindMetrics: "metric-metadata"}

// ruleError names a broken rule of section 15. The reason holds the values that break it.
type ruleError struct{ rule, reason string }

func (e *ruleError) Error() string { return e.rule + ": " + e.reason }

// unsupported tells whether the error is `unsupported`. It is `not-a-block` for magic, else `corrupt`.
func (e *ruleError) unsupported() bool {
	return e.rule == "version" || e.rule == "incompat-features" || e.rule == "section-unknown"
}

type header struct {
	Magic                      [8]byte
	Major, Minor               uint16
	Incompat, RoCompat, Compat uint32
	ID                         [16]byte
	FileLen                    uint64
	SectionCount               uint32
	DirectoryChecksum          uint32
	ChecksChecksum             uint32
	HeaderChecksum             uint32
}

type section struct {
	Kind, ID       uint32
	Offset, Length uint64
}

// block is an opened file. open fills the first part. read fills the rest, which it checks but for rows, lists,
// anchors and symbols: these are checked where they are read.
type block struct {
	err  error // the first broken rule that was met
	file []byte
	header
	sections                  []section
	directoryEnd, sectionsEnd uint64

	catalogue
	symbols
	meta
	rows, members []byte
	tables        []table
	pools         []pool
	keysets       []keyset
}

// must records that a rule is broken unless ok, and returns ok. A caller checks err before it uses a result.
func (b *block) must(ok bool, rule, format string, args ...any) bool {
	if !ok && b.err == nil {
		b.err = &ruleError{rule, fmt.Sprintf(format, args...)}
	}
	return ok
}

// open checks the header and the directory. Its work does not depend on the length of the file.
func open(file []byte) (*block, error) {
	b := &block{file: file}
	_ = b.readHeader() && b.readDirectory()
	return b, b.err
}

func (b *block) readHeader() bool {
	n := uint64(len(b.file))
	if !b.must(n >= 8 && string(b.file[:8]) == magic, "magic", "the file does not begin with the magic") ||
		!b.must(n >= headerLen, "file-len", "the file has %d bytes", n) {
		return false
	}
	decode(b.file, &b.header)
	sum := crc32.ChecksumIEEE(b.file[:60])
	return b.must(b.HeaderChecksum == sum, "header-checksum", "stored %08x, computed %08x", b.HeaderChecksum, sum) &&
		b.must(b.Major == 0 && b.Minor == 5, "version", "%d.%d", b.Major, b.Minor) &&
		b.must(b.Incompat&^hasPackedArena == 0, "incompat-features", "unknown bits %#x", b.Incompat) &&
		b.must(b.FileLen == n, "file-len", "file_len is %d, the file has %d bytes", b.FileLen, n)
}

func (b *block) readDirectory() bool {
	n := uint64(b.SectionCount)
	b.directoryEnd = headerLen + n*entryLen
	if !b.must(n <= maxSections && b.directoryEnd <= b.FileLen, "directory-extent", "%d sections", n) {
		return false
	}
	directory := b.file[headerLen:b.directoryEnd]
	sum := b.crc(directory)
	if !b.must(b.DirectoryChecksum == sum, "directory-checksum", "stored %08x, not %08x", b.DirectoryChecksum, sum) {
		return false
	}
	b.sections = make([]section, n)
	decode(directory, b.sections)
	required, end := 0, b.directoryEnd
	for _, s := range b.sections {
		_, known := sectionNames[s.Kind]
		if !b.must(known || s.Kind >= firstOptional, "section-unknown", "kind %d", s.Kind) {
			return false
		}
	}
	for i, s := range b.sections {
		name, known := sectionNames[s.Kind]
		if i > 0 {
			a := b.sections[i-1]
			b.must(a.Kind < s.Kind || a.Kind == s.Kind && a.ID < s.ID, "section-order",
				"kind %d id %d after kind %d id %d", s.Kind, s.ID, a.Kind, a.ID)
		}
		b.must(!known || s.ID == 0, "section-required", "%s has id %d", name, s.ID)
		b.must(s.Offset == end && s.Length <= b.FileLen-end, "section-extent",
			"entry %d: offset %d, length %d; the one before ends at %d", i, s.Offset, s.Length, end)
		b.must(s.Kind < firstPrivate || s.Kind >= afterPrivate || s.Length >= 16, "section-owner",
			"private section %d has %d bytes", i, s.Length)
		if b.err != nil {
			return false
		}
		if s.Kind < kindArena {
			required++
		}
		end = s.Offset + s.Length
	}
	b.sectionsEnd = end
	want := end + 4*b.chunks()
	_, plain := b.section(kindArena)
	_, packed := b.section(kindPacked)
	isPacked := b.Incompat&hasPackedArena != 0
	return b.must(required == kindArena-1, "section-required", "%d of %d are present", required, kindArena-1) &&
		b.must(packed == isPacked && plain != isPacked, "arena-kind", "plain %t, packed %t", plain, packed) &&
		b.must(b.FileLen == want, "checks-length", "file_len is %d, should be %d", b.FileLen, want)
}

// section returns the bytes of the section of a known kind.
func (b *block) section(kind uint32) (data []byte, found bool) {
	for _, s := range b.sections {
		if s.Kind == kind {
			return b.sectionData(s), true
		}
	}
	return nil, false
}

func (b *block) sectionData(s section) []byte { return b.file[s.Offset : s.Offset+s.Length] }

// crc returns CRC(block_id, parts...).
func (b *block) crc(parts ...[]byte) uint32 {
	sum := crc32.ChecksumIEEE(b.ID[:])
	for _, part := range parts {
		sum = crc32.Update(sum, crc32.IEEETable, part)
	}
	return sum
}

// crcAt returns CRC(block_id, n as u64, data).
func (b *block) crcAt(n uint64, data []byte) uint32 { return b.crc(le.AppendUint64(nil, n), data) }

// chunks returns N.
func (b *block) chunks() uint64 { return (b.sectionsEnd + chunkLen - 1) / chunkLen }

// checkChunks checks all chunks. Nothing of the sections may be read before.
func (b *block) checkChunks() {
	for n := uint64(0); n < b.chunks(); n++ {
		from := min(max(n*chunkLen, b.directoryEnd), (n+1)*chunkLen)
		to := max(from, min((n+1)*chunkLen, b.sectionsEnd))
		stored, sum := le.Uint32(b.file[b.sectionsEnd+4*n:]), b.crcAt(n, b.file[from:to])
		b.must(stored == sum, "chunk-checksum", "chunk %d: stored %08x, computed %08x", n, stored, sum)
	}
}

// checkChecks checks the checksum of the checks.
func (b *block) checkChecks() {
	sum := b.crcAt(math.MaxUint64, b.file[b.sectionsEnd:])
	b.must(b.ChecksChecksum == sum, "checks-checksum", "stored %08x, computed %08x", b.ChecksChecksum, sum)
}
