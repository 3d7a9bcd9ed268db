package main

// Section 7: tables and rows.

import "slices"

const (
	dictionaryTable = "dictionary"
	mapTable        = "map"
	sharedTable     = "shared"
	keysetTable     = "keyset"
)

// column says where the field of a column lies in a row and what its codes mean.
type column struct {
	domain   uint64 // as in a shape; 0 the symbols
	limit    uint64 // codes are less: the number of symbols, rows or lists
	base     uint64
	bit, end uint64 // the field is [bit, end) of a row
}

// leaf is a leaf of a table: its column, and its number among the leaves of the column's domain.
type leaf struct{ column, position uint16 }

// table is a table whose place, columns and leaves are checked; its rows are not.
type table struct {
	number  uint64
	kind    string
	rows    uint64
	offset  uint64 // byte of the rows section
	rowBits uint64
	columns []column
	keys    []uint32 // of the leaves; a map shares them with its domain
	leaves  []leaf   // if they are written out and there are several columns
	written bool     // the leaves are written out
	needed  bool     // and must be
	list    bool     // the last column is a list column
	depth   int
}

func (t *table) endBit() uint64 { return 8*t.offset + t.rows*t.rowBits } // 2^51 + 2^32 * 2^15 at most

// prefix returns the number of columns that order the rows: all but a list column.
func (t *table) prefix() int {
	if t.list {
		return len(t.columns) - 1
	}
	return len(t.columns)
}

func (t *table) leaf(i int) (column, position int) {
	switch {
	case len(t.columns) == 1:
		return 0, i
	case t.leaves == nil:
		return i, 0
	}
	return int(t.leaves[i].column), int(t.leaves[i].position)
}

// readTables reads the tables in their order, and the pools before the keyset tables, which refer to them.
func (b *block) readTables() bool {
	b.rows, _ = b.section(kindRows)
	b.members, _ = b.section(kindMembers)
	rowsEnd, shapesEnd := uint64(0), uint64(0)
	for n := uint64(0); ; n++ {
		if n == b.firstKeyset && !b.readPools() {
			return false
		}
		if n == b.tableCount {
			break
		}
		t := table{number: n}
		if n < b.keyCount && !b.readDictionary(&t) || n >= b.keyCount && !b.readTable(&t, &shapesEnd) ||
			!b.must(t.rows > 0, "table-rows", "table %d has none", n) ||
			!b.must(t.rowBits > 0 || t.rows == 1, "rows-order", "table %d has %d rows of 0 bits", n, t.rows) ||
			!b.must(wholeBytes(t.endBit())+closingLen <= uint64(len(b.rows)), "table-extent",
				"table %d ends at bit %d of %d bytes", n, t.endBit(), len(b.rows)) ||
			!b.must(t.offset == rowsEnd, "rows-offset", "table %d starts at %d, not %d", n, t.offset, rowsEnd) {
			return false
		}
		rowsEnd = wholeBytes(t.endBit())
		b.tables = append(b.tables, t)
	}
	want := rowsEnd + closingLen
	return b.must(shapesEnd == b.ShapeBits, "table-columns", "shapes end at %d of %d bits", shapesEnd, b.ShapeBits) &&
		b.must(uint64(len(b.rows)) == want, "rows-offset", "%d bytes, should be %d", len(b.rows), want)
}

func (b *block) readDictionary(t *table) bool {
	k, r := t.number, &b.keyRecords
	name, bits := r.get(k, keyName), r.get(k, keyWidth)
	t.kind, t.rows, t.offset, t.rowBits = dictionaryTable, r.get(k, keyRows), r.get(k, keyOffset), bits
	t.columns = []column{{limit: b.symbolCount, base: r.get(k, keyBase), end: bits}}
	t.keys = []uint32{uint32(k)}
	return b.must(name < b.symbolCount && (k == 0 || r.get(k-1, keyName) < name), "keys-order",
		"the name of key %d is symbol %d of %d", k, name, b.symbolCount) &&
		b.must(bits <= 32, "table-extent", "a field of table %d has %d bits", k, bits)
}

// readTable reads a table that is not a dictionary, whose shape starts at a bit, and moves that to the shape's end.
func (b *block) readTable(t *table, shapeBit *uint64) bool {
	r := &b.tableRecords
	t.rows, t.offset = r.get(t.number-b.keyCount, tableRows), r.get(t.number-b.keyCount, tableOffset)
	at := r.get(t.number-b.keyCount, tableShape)
	if !b.must(at == *shapeBit, "table-columns", "shape of table %d at bit %d, not %d", t.number, at, *shapeBit) {
		return false
	}
	s, ok := b.shapeAt(at)
	if !ok {
		return false
	}
	*shapeBit = s.end
	switch {
	case t.number >= b.firstKeyset:
		t.kind = keysetTable
	case s.columnCount == 1:
		t.kind = mapTable
	default:
		t.kind = sharedTable
	}
	for i := uint64(0); i < s.columnCount; i++ {
		domain, base, end := b.columnAt(&s, i)
		c := column{domain: domain, base: base, bit: t.rowBits, end: end}
		t.list = domain > b.tableCount
		d := domain - 1
		if !b.must(c.bit <= end && end-c.bit <= 32, "table-extent", "table %d: field [%d, %d)", t.number, c.bit, end) ||
			!b.must(domain > 0 && domain <= b.tableCount+b.poolCount && (t.list || d < min(t.number, b.firstKeyset)),
				"column-domain", "table %d: domain %d of column %d", t.number, domain, i) ||
			!b.must(!t.list || t.kind == keysetTable && i > 0 && i == s.columnCount-1, "list-column",
				"%s table %d: pool %d in column %d of %d", t.kind, t.number, d-b.tableCount, i, s.columnCount) {
			return false
		}
		if t.list {
			c.limit = b.pools[d-b.tableCount].lists
		} else {
			c.limit = b.tables[d].rows
		}
		t.rowBits = end
		t.columns = append(t.columns, c)
		below := b.leafTable(&c)
		t.depth = max(t.depth, below.depth)
		if !b.must(t.kind != mapTable || below.kind != mapTable, "table-depth", "map %d of map %d", t.number, d) {
			return false
		}
	}
	if s.columnCount > 1 {
		t.depth++
	}
	return b.must(t.depth <= maxDepth, "table-depth", "table %d has depth %d", t.number, t.depth) && b.readLeaves(t, &s)
}

// leafTable returns the table whose leaves a column has: its domain, or the table of the pool. Not for dictionaries.
func (b *block) leafTable(c *column) *table {
	if c.domain > b.tableCount {
		return &b.tables[b.pools[c.domain-1-b.tableCount].table]
	}
	return &b.tables[c.domain-1]
}

func (b *block) firstKey(t *table, c int) uint32 { return b.leafTable(&t.columns[c]).keys[0] }

// readLeaves sets the keys and leaves of a table, whose columns are read.
func (b *block) readLeaves(t *table, s *shape) bool {
	total := 0
	for c := range t.columns {
		n := len(b.leafTable(&t.columns[c]).keys)
		total += n
		t.needed = t.needed || n > 1 || c > 0 && b.firstKey(t, c) <= b.firstKey(t, c-1)
	}
	t.needed = t.needed && len(t.columns) > 1
	t.written = s.leafCount > 0
	if !b.must(total <= maxLabels, "leaves-order", "table %d has %d leaves", t.number, total) ||
		!b.must(!t.written && !t.needed || s.leafCount == uint64(total), "leaves-written",
			"table %d: leaf_count is %d, the columns have %d", t.number, s.leafCount, total) {
		return false
	}
	if len(t.columns) == 1 {
		t.keys = b.leafTable(&t.columns[0]).keys
		return true
	}
	t.keys = make([]uint32, total)
	if !t.written {
		for c := range t.keys {
			t.keys[c] = b.firstKey(t, c)
		}
		return true
	}
	t.leaves = make([]leaf, total)
	seen := make([]int, len(t.columns)) // leaves of each column so far
	for i := range t.leaves {
		c := b.leafAt(s, uint64(i))
		if !b.must(c < s.columnCount, "leaves-order", "table %d: leaf %d of column %d", t.number, i, c) {
			return false
		}
		keys, position := b.leafTable(&t.columns[c]).keys, seen[c]
		if !b.must(position < len(keys) && (i == 0 || t.keys[i-1] < keys[position]), "leaves-order",
			"table %d: leaf %d is leaf %d of column %d", t.number, i, position, c) {
			return false
		}
		seen[c]++
		t.keys[i], t.leaves[i] = keys[position], leaf{uint16(c), uint16(position)}
	}
	return true // no column has more than its leaves, and all together have all: so each has its own
}

// code returns the code of column c in row r, which the table has. It is 0 if the rule is broken.
func (b *block) code(t *table, r uint64, c int) uint64 {
	col := &t.columns[c]
	code := col.base + field(b.rows, 8*t.offset+r*t.rowBits+col.bit, col.end-col.bit)
	if code >= col.limit {
		b.must(false, "column-code", "table %d, row %d, column %d: code %d of %d", t.number, r, c, code, col.limit)
		return 0
	}
	return code
}

// codes sets the given codes to the first ones of row r.
func (b *block) codes(t *table, r uint64, codes []uint64) {
	for c := range codes {
		codes[c] = b.code(t, r, c)
	}
}

// rounded returns the width of a field for values of w bits, as the row form says.
func (b *block) rounded(w uint64) uint64 {
	switch {
	case b.RowForm == bitPacked || w == 0:
		return w
	case w <= 8:
		return 8
	case w <= 16:
		return 16
	}
	return 32
}

// checkRows checks the rules of class R that need a pass over all rows.
func (b *block) checkRows() {
	for n := range b.tables {
		t := &b.tables[n]
		before, codes := make([]uint64, len(t.columns)), make([]uint64, len(t.columns))
		for r := uint64(0); r < t.rows && b.err == nil; r++ {
			b.codes(t, r, codes)
			if r > 0 && slices.Compare(before[:t.prefix()], codes[:t.prefix()]) >= 0 {
				b.must(false, "rows-order", "table %d: row %d is %d, after %d", n, r, codes, before)
			}
			before, codes = codes, before
		}
	}
}

// checkTableForm checks the rules of class C on tables, and symbols-used and list-used.
func (b *block) checkTableForm() {
	used := make([]bitset, 1+b.tableCount+b.poolCount) // by number of the domain
	used[0] = newBitset(b.symbolCount)
	for n := range b.tables[:b.firstKeyset] {
		used[1+n] = newBitset(b.tables[n].rows)
	}
	for n := range b.pools {
		p := &b.pools[n]
		used[1+b.tableCount+p.number] = newBitset(p.lists)
		var members []uint64
		for l := uint64(0); l < p.lists; l++ {
			members = b.listMembers(p, l, members)
			for _, member := range members {
				used[1+p.table].add(member)
			}
		}
	}
	for n := range b.tables {
		t := &b.tables[n]
		b.must(zeroAfter(b.rows, t.endBit()), "rows-padding", "bits after table %d are not zero", n)
		b.must(!t.written || t.needed, "leaves-needed", "table %d: leaves are written out", n)
		b.must(t.kind != mapTable || t.columns[0].limit > t.rows, "map-needed", "map %d has %d rows, its domain %d",
			n, t.rows, t.columns[0].limit)
		for c := 1; c < t.prefix(); c++ {
			b.must(b.firstKey(t, c-1) < b.firstKey(t, c), "columns-order",
				"table %d: column %d is not after the one before", n, c)
		}
		for i := range t.columns {
			c := &t.columns[i]
			smallest, largest := c.limit, uint64(0)
			for r := uint64(0); r < t.rows; r++ {
				code := b.code(t, r, i)
				smallest, largest = min(smallest, code), max(largest, code)
				used[c.domain].add(code)
			}
			b.must(c.base == smallest && c.end-c.bit == b.rounded(width(largest-smallest)), "column-width",
				"table %d, column %d: base %d and %d bits for %d to %d", n, i, c.base, c.end-c.bit, smallest, largest)
		}
	}
	b.must(allZero(b.rows[len(b.rows)-closingLen:]), "rows-padding", "the closing bytes are not zero")
	for k := uint64(0); k < b.keyCount; k++ {
		used[0].add(b.keyRecords.get(k, keyName))
	}
	i := used[0].missing(b.symbolCount)
	b.must(i == b.symbolCount, "symbols-used", "symbol %d is not used", i)
	for n := range b.tables[:b.firstKeyset] {
		i := used[1+n].missing(b.tables[n].rows)
		b.must(i == b.tables[n].rows, "rows-used", "row %d of table %d is not used", i, n)
	}
	for n := range b.pools {
		i := used[1+b.tableCount+uint64(n)].missing(b.pools[n].lists)
		b.must(i == b.pools[n].lists, "list-used", "list %d of pool %d is not used", i, n)
	}
}
