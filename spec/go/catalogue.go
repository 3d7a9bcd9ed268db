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
	catalogueData                                        []byte
	keyRecords, tableRecords, poolRecords, keysetRecords records
	keyCount, tableCount, firstKeyset                    uint64 // firstKeyset is the number of the first keyset table
	shapesStart, shapeAt                                 uint64 // bit of the shapes; bits of them that are read
}

func (b *block) readCatalogue() {
	c := &b.catalogue
	data, _ := b.section(kindCatalogue)
	headerLen := binary.Size(c.catalogueHeader)
	must(len(data) >= headerLen, "catalogue-header", "%d bytes do not hold it", len(data))
	c.catalogueData = data
	h := &c.catalogueHeader
	decode(data, h)
	c.keyCount, c.tableCount = uint64(h.KeyCount), uint64(h.TableCount)
	keysets := uint64(h.KeysetCount)
	must(c.keyCount+keysets <= c.tableCount, "catalogue-header", "only %d tables", c.tableCount)
	must(h.ShapeBits < 1<<48, "catalogue-header", "shape_bits is %d", h.ShapeBits)
	c.firstKeyset = c.tableCount - keysets
	at := 8 * uint64(headerLen)
	array := func(count uint64, widths []byte, limits ...byte) records {
		r := records{data, at, count, widths}
		r.mustFit("catalogue-header", limits...)
		at = 8 * wholeBytes(r.end()) // some arrays of 2^32 * 2^8 bits, and 2^48 bits of shapes: nothing wraps
		return r
	}
	c.keyRecords = array(c.keyCount, h.KeyWidths[:], 32, 32, 48, 32, 32)
	c.tableRecords = array(c.tableCount-c.keyCount, h.TableWidths[:], 32, 48, 48)
	c.shapesStart = at
	shapes := records{data, at, 0, h.ShapeWidths[:]}
	shapes.mustFit("catalogue-header", 10, 10, 32)
	must(h.ShapeWidths[2] > 0 || c.tableRecords.count == 0, "catalogue-header", "domains take no bits")
	at = 8 * wholeBytes(at+h.ShapeBits)
	c.poolRecords = array(uint64(h.PoolCount), h.PoolWidths[:], 32, 32, 32, 32, 48)
	c.keysetRecords = array(keysets, h.KeysetWidths[:], 32, 48)
	want := at/8 + closingLen
	must(uint64(len(data)) == want, "catalogue-length", "%d bytes, should be %d", len(data), want)
}

// takeShape returns the next field of the shapes.
func (c *catalogue) takeShape(w uint64) uint64 {
	must(w <= c.ShapeBits-c.shapeAt, "table-columns", "a shape does not end at bit %d", c.ShapeBits)
	c.shapeAt += w
	return field(c.catalogueData, c.shapesStart+c.shapeAt-w, w)
}

// checkCatalogueForm checks the rules of class C.
func (b *block) checkCatalogueForm() {
	for _, r := range []*records{&b.keyRecords, &b.tableRecords, &b.poolRecords, &b.keysetRecords} {
		r.mustBeTight("catalogue-widths")
	}
	var largest [3]uint64
	for _, t := range b.tables[b.keyCount:] {
		base, end := uint64(0), uint64(0)
		for _, c := range t.columns {
			base, end, largest[2] = max(base, c.base), max(end, c.bit+c.width), max(largest[2], c.domain)
		}
		must(t.baseWidth == width(base) && t.endWidth == width(end), "catalogue-widths",
			"table %d: base_width %d for %d, end_width %d for %d", t.number, t.baseWidth, base, t.endWidth, end)
		largest[0] = max(largest[0], uint64(len(t.columns)))
		if t.written {
			largest[1] = max(largest[1], uint64(len(t.keys)))
		}
	}
	for f, w := range b.ShapeWidths {
		must(uint64(w) == width(largest[f]), "catalogue-widths", "shape_widths[%d] is %d for %d", f, w, largest[f])
	}
	mustPad("catalogue-padding", b.catalogueData, b.keyRecords.end(), b.tableRecords.end(), b.shapesStart+b.ShapeBits,
		b.poolRecords.end(), b.keysetRecords.end())
}
