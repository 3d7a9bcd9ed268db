package main

// Section 5: catalogue.

import "encoding/binary"

type catalogueHeader struct {
	KeyCount, TableCount, PoolCount, KeysetCount uint32
	ShapeBits                                    uint64
	KeyWidths                                    [5]byte
	TableWidths, ShapeWidths                     [3]byte
	PoolWidths                                   [5]byte
	KeysetWidths                                 [2]byte
}

// Fields of the records.
const (
	keyName, keyRows, keyOffset, keyBase, keyWidth         = 0, 1, 2, 3, 4
	tableRows, tableOffset, tableShape                     = 0, 1, 2
	poolTable, poolLists, poolMembers, poolLow, poolOffset = 0, 1, 2, 3, 4
	keysetEnd, keysetAnchors                               = 0, 1
)

// catalogue gives access to the catalogue in place.
type catalogue struct {
	catalogueHeader
	catalogueData                                            []byte
	keyRecords, tableRecords, poolRecords, keysetRecords     records
	keyCount, tableCount, poolCount, keysetCount, shapesByte uint64
	firstKeyset                                              uint64 // the first keyset table
}

func (b *block) readCatalogue() bool {
	c := &b.catalogue
	data, _ := b.section(kindCatalogue)
	headerLen := uint64(binary.Size(c.catalogueHeader))
	if !b.must(uint64(len(data)) >= headerLen, "catalogue-header", "%d bytes do not hold it", len(data)) {
		return false
	}
	decode(data, &c.catalogueHeader)
	c.catalogueData = data
	c.keyCount, c.tableCount = uint64(c.KeyCount), uint64(c.TableCount)
	c.poolCount, c.keysetCount = uint64(c.PoolCount), uint64(c.KeysetCount)
	h := &c.catalogueHeader
	if !b.must(h.ShapeBits < 1<<48, "catalogue-header", "shape_bits is %d", h.ShapeBits) ||
		!b.must(c.keyCount+c.keysetCount <= c.tableCount, "catalogue-header", "%d keys, %d keysets, %d tables",
			c.keyCount, c.keysetCount, c.tableCount) ||
		!b.must(within(h.KeyWidths[:], 32, 32, 48, 32, 32) && within(h.TableWidths[:], 32, 48, 48) &&
			within(h.ShapeWidths[:], 10, 10, 32) && within(h.PoolWidths[:], 32, 32, 32, 32, 48) &&
			within(h.KeysetWidths[:], 32, 48), "catalogue-header", "widths %d %d %d %d %d", h.KeyWidths,
			h.TableWidths, h.ShapeWidths, h.PoolWidths, h.KeysetWidths) {
		return false
	}
	c.firstKeyset = c.tableCount - c.keysetCount
	// Records have less than 256 bits, counts 32 and shape_bits 48: the places below do not wrap.
	c.keyRecords = records{data, headerLen, c.keyCount, h.KeyWidths[:]}
	c.tableRecords = records{data, c.keyRecords.end(), c.tableCount - c.keyCount, h.TableWidths[:]}
	c.shapesByte = c.tableRecords.end()
	c.poolRecords = records{data, c.shapesByte + wholeBytes(h.ShapeBits), c.poolCount, h.PoolWidths[:]}
	c.keysetRecords = records{data, c.poolRecords.end(), c.keysetCount, h.KeysetWidths[:]}
	want := c.keysetRecords.end() + closingLen
	return b.must(c.keyRecords.bounded() && c.tableRecords.bounded() && c.poolRecords.bounded() &&
		c.keysetRecords.bounded(), "catalogue-header", "records take no bits") &&
		b.must(h.ShapeWidths[2] > 0 || c.tableCount == c.keyCount, "catalogue-header", "domains take no bits") &&
		b.must(uint64(len(data)) == want, "catalogue-length", "%d bytes, should be %d", len(data), want)
}

// shape is the head of a shape. Places are bits from the first shape on.
type shape struct {
	columnCount, leafCount, baseWidth, endWidth uint64
	columns, columnBits, leaves, end            uint64
}

func (c *catalogue) shapeField(at, w uint64) uint64 {
	return field(c.catalogueData, 8*c.shapesByte+at, w)
}

// shapeAt reads the head of the shape at a bit and checks that the shape ends inside the shapes.
func (b *block) shapeAt(at uint64) (s shape, ok bool) {
	w := [2]uint64{uint64(b.ShapeWidths[0]), uint64(b.ShapeWidths[1])}
	s.columns = at + w[0] + w[1] + 6 + 4
	if !b.must(s.columns <= b.ShapeBits, "table-columns", "shape at bit %d of %d", at, b.ShapeBits) {
		return s, false
	}
	s.columnCount, s.leafCount = b.shapeField(at, w[0]), b.shapeField(at+w[0], w[1])
	s.baseWidth, s.endWidth = b.shapeField(s.columns-10, 6), b.shapeField(s.columns-4, 4)
	if !b.must(s.columnCount >= 1 && s.columnCount <= maxColumns && s.baseWidth <= 32, "table-columns",
		"shape at bit %d has %d columns, base_width %d", at, s.columnCount, s.baseWidth) {
		return s, false
	}
	s.columnBits = uint64(b.ShapeWidths[2]) + s.baseWidth + s.endWidth
	s.leaves = s.columns + s.columnCount*s.columnBits
	s.end = s.leaves + s.leafCount*width(s.columnCount-1)
	return s, b.must(s.end <= b.ShapeBits, "table-columns", "shape at bit %d of %d", at, b.ShapeBits)
}

// columnAt returns the fields of column i of a shape.
func (c *catalogue) columnAt(s *shape, i uint64) (domain, base, endBit uint64) {
	at, w := s.columns+i*s.columnBits, uint64(c.ShapeWidths[2])
	return c.shapeField(at, w), c.shapeField(at+w, s.baseWidth), c.shapeField(at+w+s.baseWidth, s.endWidth)
}

// leafAt returns the column of leaf i of a shape.
func (c *catalogue) leafAt(s *shape, i uint64) uint64 {
	w := width(s.columnCount - 1)
	return c.shapeField(s.leaves+i*w, w)
}

// checkCatalogueForm checks the rules of class C.
func (b *block) checkCatalogueForm() {
	for _, r := range []*records{&b.keyRecords, &b.tableRecords, &b.poolRecords, &b.keysetRecords} {
		b.must(r.tight(), "catalogue-widths", "the widths %d of the array at byte %d", r.widths, r.start)
		b.must(zeroAfter(b.catalogueData, r.endBit()), "catalogue-padding", "at bit %d", r.endBit())
	}
	var largest [3]uint64
	for i := uint64(0); i < b.tableRecords.count; i++ {
		s, ok := b.shapeAt(b.tableRecords.get(i, tableShape))
		largestBase, largestEnd := uint64(0), uint64(0)
		for c := uint64(0); ok && c < s.columnCount; c++ {
			domain, base, end := b.columnAt(&s, c)
			largestBase, largestEnd = max(largestBase, base), max(largestEnd, end)
			largest[2] = max(largest[2], domain)
		}
		largest[0], largest[1] = max(largest[0], s.columnCount), max(largest[1], s.leafCount)
		b.must(s.baseWidth == width(largestBase) && s.endWidth == width(largestEnd), "catalogue-widths",
			"table %d: base_width %d, end_width %d", b.keyCount+i, s.baseWidth, s.endWidth)
	}
	for f, w := range b.ShapeWidths {
		b.must(uint64(w) == width(largest[f]), "catalogue-widths", "shape_widths[%d] is %d for %d", f, w, largest[f])
	}
	end := len(b.catalogueData) - closingLen
	b.must(zeroAfter(b.catalogueData, 8*b.shapesByte+b.ShapeBits) && allZero(b.catalogueData[end:]),
		"catalogue-padding", "after the shapes or in the closing bytes")
}
