package main

// Sections 2 to 4 and 15: limits, header and directory, checksums, and the order in which rules are checked.

import (
	"hash/crc32"
	"math"
)

const (
	maxSymbolLen = 65535
	maxLabels    = 1023
	maxColumns   = 1023
	maxDepth     = 10
	maxSections  = 1024
	chunkLen     = 8192
	anchorRows   = 16
	symbolGroup  = 16
	maxMetaLen   = 16777216
	maxUpperBits = 65536

	magic     = "\x89CXB\r\n\x1a\n"
	headerLen = 64
	entryLen  = 24

	kindMeta          = 1
	kindCatalogue     = 2
	kindSymbols       = 3
	kindRows          = 4
	kindMembers       = 5
	kindArena         = 6
	kindPackedArena   = 7
	firstOptional     = 1 << 31
	kindMetrics       = 1<<31 + 1<<29 + 1
	kindPackedMetrics = 1<<31 + 1<<29 + 2
	kindColumn        = 1<<31 + 1<<30 + 3

	isArchive = 1 // incompat
)

var sectionNames = map[uint32]string{kindMeta: "meta", kindCatalogue: "catalogue", kindSymbols: "symbols",
	kindRows: "rows", kindMembers: "members", kindArena: "arena", kindPackedArena: "packed-arena",
	kindMetrics: "metric-metadata", kindPackedMetrics: "packed-metric-metadata",
	kindColumn: "series-column"}

type header struct {
	Magic                         [8]byte
	Major, Minor                  uint16
	Incompat, RoCompat, Compat    uint32
	ID                            [16]byte
	FileLen                       uint64
	SectionCount                  uint32
	FrontChecksum, ChecksChecksum uint32
	HeaderChecksum                uint32
}

type section struct {
	Kind, ID       uint32
	Offset, Length uint64
}

// block is a file whose rules of class R are checked. Its sections are read in place.
type block struct {
	file []byte
	header
	sections              []section
	frontEnd, sectionsEnd uint64 // d and e of section 4

	meta
	catalogue
	symbols
	rows, members []byte
	rowsEnd       uint64 // end of the tables that are read, in bytes of the rows section
	tables        []*table
	pools         []*pool
	keysets       []*keyset
	used          [][]bool // which symbols, rows and lists series refer to, by number of the domain
	metrics       *metrics // nil if there are none
	columns       []*seriesColumn
}

// read checks all rules of class R.
func read(file []byte) (b *block, err error) {
	defer catch(&err)
	b = &block{file: file}
	for _, step := range []func(){b.readHeader, b.readDirectory, b.checkChunks, b.readMeta, b.readCatalogue,
		b.readSymbols, b.readTables, b.readKeysets, b.readMetrics, b.checkSymbols, b.checkRows, b.checkLists,
		b.checkSeries, b.checkValues, b.checkMeta, b.readColumns} {
		step()
	}
	return b, nil
}

// verify checks all rules, or if the block has unknown bits in ro_compat, those of class R. It returns these bits.
func verify(file []byte) (unknown uint32, err error) {
	b, err := read(file)
	if err != nil || b.RoCompat != 0 {
		return b.RoCompat, err
	}
	defer catch(&err)
	for _, step := range []func(){b.checkMetaForm, b.checkCatalogueForm, b.checkSymbolForm, b.checkTableForm,
		b.checkListForm, b.checkUsed, b.checkMetricForm, b.checkColumnForm} {
		step()
	}
	return 0, nil
}

func (b *block) readHeader() {
	n := uint64(len(b.file))
	must(n >= 8 && string(b.file[:8]) == magic, "magic", "the file does not begin with the magic")
	must(n >= headerLen, "file-len", "the file has %d bytes", n)
	decode(b.file, &b.header)
	sum := crc32.ChecksumIEEE(b.file[:60])
	must(b.HeaderChecksum == sum, "header-checksum", "stored %08x, computed %08x", b.HeaderChecksum, sum)
	must(b.Major == 1, "version", "%d.%d", b.Major, b.Minor)
	must(b.Incompat&^isArchive == 0, "incompat-features", "unknown bits %#x", b.Incompat&^isArchive)
	must(b.FileLen == n, "file-len", "file_len is %d, the file has %d bytes", b.FileLen, n)
}

func (b *block) readDirectory() {
	n := uint64(b.SectionCount)
	end := headerLen + n*entryLen
	must(n >= 1 && n <= maxSections && end <= b.FileLen, "directory-extent", "%d sections", n)
	b.sections = make([]section, n)
	decode(b.file[headerLen:end], b.sections)
	first := b.sections[0].Length
	must(first <= min(maxMetaLen, b.FileLen-end), "directory-extent", "the first section has %d bytes", first)
	b.frontEnd = end + first
	sum := b.crc(b.file[headerLen:b.frontEnd])
	must(b.FrontChecksum == sum, "front-checksum", "stored %08x, computed %08x", b.FrontChecksum, sum)
	for _, s := range b.sections {
		must(sectionNames[s.Kind] != "" || s.Kind >= firstOptional, "section-unknown", "kind %d", s.Kind)
	}
	present, arena := 0, kindArena // present: a bit for each kind
	for i, s := range b.sections {
		if i > 0 {
			a := b.sections[i-1]
			must(a.Kind < s.Kind || a.Kind == s.Kind && a.ID < s.ID, "section-order", "entry %d", i)
		}
		must(s.Offset == end && s.Length <= b.FileLen-end, "section-extent", "entry %d, not at %d", i, end)
		if s.Kind < firstOptional {
			must(s.ID == 0, "section-required", "kind %d has id %d", s.Kind, s.ID)
			present |= 1 << s.Kind
		}
		end += s.Length
	}
	b.sectionsEnd = end
	if b.Incompat&isArchive != 0 {
		arena = kindPackedArena
	}
	required := 1<<kindArena - 1<<kindMeta | 1<<arena
	must(present == required, "section-required", "kinds %b are present, not %b", present, required)
	want := end + 4*b.chunks()
	must(b.FileLen == want, "checks-length", "file_len is %d, should be %d", b.FileLen, want)
}

// section returns the bytes of the first section of a kind.
func (b *block) section(kind uint32) (data []byte, found bool) {
	for _, s := range b.sections {
		if s.Kind == kind {
			return b.file[s.Offset : s.Offset+s.Length], true
		}
	}
	return nil, false
}

// crc returns CRC(block_id, parts...).
func (b *block) crc(parts ...[]byte) uint32 {
	sum := crc32.ChecksumIEEE(b.ID[:])
	for _, part := range parts {
		sum = crc32.Update(sum, crc32.IEEETable, part)
	}
	return sum
}

// chunks returns N.
func (b *block) chunks() uint64 { return (b.sectionsEnd + chunkLen - 1) / chunkLen }

// chunkChecksum computes the checksum of chunk n.
func (b *block) chunkChecksum(n uint64) uint32 {
	from := min(max(n*chunkLen, b.frontEnd), b.sectionsEnd)
	to := min(max((n+1)*chunkLen, b.frontEnd), b.sectionsEnd)
	return b.crc(le.AppendUint64(nil, n), b.file[from:to])
}

func (b *block) checkChunks() {
	checks := b.file[b.sectionsEnd:]
	for n := uint64(0); n < b.chunks(); n++ {
		stored, sum := le.Uint32(checks[4*n:]), b.chunkChecksum(n)
		must(stored == sum, "chunk-checksum", "chunk %d: stored %08x, computed %08x", n, stored, sum)
	}
	sum := b.crc(le.AppendUint64(nil, math.MaxUint64), checks)
	must(b.ChecksChecksum == sum, "checks-checksum", "stored %08x, computed %08x", b.ChecksChecksum, sum)
}
