package main

// Section 7: tables and rows.

import (
	"fmt"
	"slices"
)

const (
	dictionaryTable = "dictionary"
	mapTable        = "map"
	sharedTable     = "shared"
	keysetTable     = "keyset"
)

// column says where the field of a column lies in a row and what its codes mean.
type column struct {
	domain     uint64 // as in a shape; 0 the symbols
	below      *table // whose rows the codes are, or the members of the lists; nil for symbols
	limit      uint64 // codes are less: the number of symbols, rows or lists
	base       uint64
	bit, width uint64 // the field in a row
}

// leaf is a leaf of a table: its column, and its number among the leaves of the column's domain.
type leaf struct{ column, position uint16 }

// table is a table whose place, columns and leaves are checked.
type table struct {
	number, rows, rowBits uint64
	start                 uint64 // bit of the rows section
	kind                  string
	depth                 int
	columns               []column
	list                  *pool    // of the last column, if that is a list column
	keys                  []uint32 // of the leaves; a table with one column shares them with its domain
	leaves                []leaf   // if they are written out and there are several columns
	written, needed       bool     // the leaves are written out, and must be
	baseWidth, endWidth   uint64   // of the shape
	smallest, largest     []uint64 // codes of the columns
}

// end returns the bit after the last row. Nothing wraps: it is at most 2^51 + 2^32 * 2^15.
func (t *table) end() uint64 { return t.start + t.rows*t.rowBits }

// ordered returns the number of columns that order the rows: all but a list column.
func (t *table) ordered() int {
	if t.list != nil {
		return len(t.columns) - 1
	}
	return len(t.columns)
}

// leaf returns the column and position of leaf i of a table that is not a dictionary.
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
func (b *block) readTables() {
	b.rows, _ = b.section(kindRows)
	b.members, _ = b.section(kindMembers)
	for n := uint64(0); n < b.firstKeyset; n++ {
		b.readTable(n)
	}
	b.readPools()
	for n := b.firstKeyset; n < b.tableCount; n++ {
		b.readTable(n)
	}
	must(b.shapeAt == b.ShapeBits, "table-columns", "shapes end at %d of %d bits", b.shapeAt, b.ShapeBits)
	want := b.rowsEnd + closingLen
	must(uint64(len(b.rows)) == want, "rows-offset", "%d bytes, should be %d", len(b.rows), want)
}

func (b *block) readTable(n uint64) {
	t := &table{number: n}
	if n < b.keyCount {
		b.readDictionary(t)
	} else {
		b.readShape(t)
	}
	must(t.rows > 0, "table-rows", "table %d has none", n)
	must(t.rowBits > 0 || t.rows == 1, "rows-order", "table %d has %d rows of 0 bits", n, t.rows)
	end := wholeBytes(t.end())
	must(end+closingLen <= uint64(len(b.rows)), "table-extent", "table %d ends at byte %d of %d", n, end, len(b.rows))
	must(t.start == 8*b.rowsEnd, "rows-offset", "table %d starts at byte %d, not %d", n, t.start/8, b.rowsEnd)
	b.rowsEnd = end
	b.tables = append(b.tables, t)
}

func (b *block) readDictionary(t *table) {
	k, r := t.number, &b.keyRecords
	name := r.get(k, keyName)
	must(name < b.symbolCount && (k == 0 || r.get(k-1, keyName) < name), "keys-order", "key %d: symbol %d", k, name)
	t.kind, t.rows, t.start, t.rowBits = dictionaryTable, r.get(k, keyRows), 8*r.get(k, keyOffset), r.get(k, keyWidth)
	must(t.rowBits <= 32, "table-extent", "a field of table %d has %d bits", k, t.rowBits)
	t.columns = []column{{limit: b.symbolCount, base: r.get(k, keyBase), width: t.rowBits}}
	t.keys = []uint32{uint32(k)}
}

// readShape reads a table that is not a dictionary, whose shape is the next one.
func (b *block) readShape(t *table) {
	i, r := t.number-b.keyCount, &b.tableRecords
	t.rows, t.start = r.get(i, tableRows), 8*r.get(i, tableOffset)
	at := r.get(i, tableShape)
	must(at == b.shapeAt, "table-columns", "shape of table %d at bit %d, not %d", t.number, at, b.shapeAt)
	columns, leaves := b.takeShape(uint64(b.ShapeWidths[0])), b.takeShape(uint64(b.ShapeWidths[1]))
	t.baseWidth, t.endWidth = b.takeShape(6), b.takeShape(4)
	must(columns >= 1 && columns <= maxColumns && t.baseWidth <= 32, "table-columns", "table %d", t.number)
	if t.kind = sharedTable; t.number >= b.firstKeyset {
		t.kind = keysetTable
	} else if columns == 1 {
		t.kind = mapTable
	}
	for i := uint64(0); i < columns; i++ {
		b.readColumn(t, i == columns-1)
	}
	t.depth++
	must(t.depth <= maxDepth, "table-depth", "table %d has depth %d", t.number, t.depth)
	b.readLeaves(t, leaves)
}

// readColumn reads the next column of a shape.
func (b *block) readColumn(t *table, isLast bool) {
	i, bit := len(t.columns), t.rowBits
	domain, base := b.takeShape(uint64(b.ShapeWidths[2])), b.takeShape(t.baseWidth)
	t.rowBits = b.takeShape(t.endWidth)
	must(t.rowBits >= bit && t.rowBits <= bit+32, "table-extent", "table %d: field [%d, %d)", t.number, bit, t.rowBits)
	c := column{domain: domain, base: base, bit: bit, width: t.rowBits - bit}
	if d := domain - 1 - b.tableCount; domain > b.tableCount {
		must(d < uint64(b.PoolCount), "column-domain", "table %d: pool %d of column %d", t.number, d, i)
		must(t.kind == keysetTable && i > 0 && isLast, "list-column", "table %d: column %d", t.number, i)
		t.list = b.pools[d]
		c.below, c.limit = t.list.table, t.list.lists
	} else {
		must(domain > 0 && domain-1 < min(t.number, b.firstKeyset), "column-domain", "table %d: column %d", t.number, i)
		c.below = b.tables[domain-1]
		c.limit = c.below.rows
	}
	t.depth = max(t.depth, c.below.depth)
	t.columns = append(t.columns, c)
}

// readLeaves sets the keys and leaves of a table, whose columns are read.
func (b *block) readLeaves(t *table, count uint64) {
	total := 0
	for i, c := range t.columns {
		total += len(c.below.keys)
		t.needed = t.needed || len(c.below.keys) > 1 || i > 0 && c.below.keys[0] <= t.columns[i-1].below.keys[0]
	}
	t.needed = t.needed && len(t.columns) > 1
	t.written = count > 0
	must(total <= maxLabels, "leaves-order", "table %d has %d leaves", t.number, total)
	must(count == uint64(total) || count == 0 && !t.needed, "leaves-written", "table %d: %d leaves", t.number, count)
	if len(t.columns) == 1 { // written out or not, leaf i is leaf i of the domain
		t.keys = t.columns[0].below.keys
		return
	}
	seen := make([]int, len(t.columns)) // leaves of each column so far
	for i := 0; i < total; i++ {
		c := uint64(i)
		if t.written {
			c = b.takeShape(width(uint64(len(t.columns) - 1)))
			must(c < uint64(len(t.columns)), "leaves-order", "table %d: leaf %d of column %d", t.number, i, c)
			t.leaves = append(t.leaves, leaf{uint16(c), uint16(seen[c])})
		}
		keys, position := t.columns[c].below.keys, seen[c]
		must(position < len(keys) && (i == 0 || t.keys[i-1] < keys[position]), "leaves-order",
			"table %d: leaf %d", t.number, i)
		t.keys = append(t.keys, keys[position])
		seen[c]++
	} // no column has more than its leaves, and all together have all: so each has its own
}

// code returns the code of column c in row r, which the table has.
func (b *block) code(t *table, r uint64, c int) uint64 {
	k := &t.columns[c]
	code := k.base + field(b.rows, t.start+r*t.rowBits+k.bit, k.width)
	if code >= k.limit {
		fail("column-code", "table %d, row %d, column %d: code %d of %d", t.number, r, c, code, k.limit)
	}
	return code
}

// codes returns the codes of row r.
func (b *block) codes(t *table, r uint64) []uint64 {
	codes := make([]uint64, len(t.columns))
	for c := range codes {
		codes[c] = b.code(t, r, c)
	}
	return codes
}

// checkRows checks the rules of class R that need a pass over all rows.
func (b *block) checkRows() {
	for _, t := range b.tables {
		before, n := b.codes(t, 0), t.ordered()
		t.smallest, t.largest = slices.Clone(before), slices.Clone(before)
		for r := uint64(1); r < t.rows; r++ {
			codes := b.codes(t, r)
			for c, code := range codes {
				t.smallest[c], t.largest[c] = min(t.smallest[c], code), max(t.largest[c], code)
			}
			must(slices.Compare(before[:n], codes[:n]) < 0, "rows-order", "table %d: row %d", t.number, r)
			before = codes
		}
	}
}

// checkValues finds out what series refer to, from the keyset tables downward, and checks that values are among it.
func (b *block) checkValues() {
	b.used = make([][]bool, 1+b.tableCount+uint64(len(b.pools)))
	b.used[0] = make([]bool, b.symbolCount)
	for _, t := range b.tables[:b.firstKeyset] {
		b.used[1+t.number] = make([]bool, t.rows)
	}
	for _, p := range b.pools {
		b.used[p.domain] = make([]bool, p.lists)
	}
	use := func(t *table) {
		for r := uint64(0); r < t.rows; r++ {
			for c := range t.columns {
				if t.kind == keysetTable || b.used[1+t.number][r] {
					b.used[t.columns[c].domain][b.code(t, r, c)] = true
				}
			}
		}
	}
	for _, t := range b.tables[b.firstKeyset:] {
		use(t)
	}
	var members []uint64
	for _, p := range b.pools {
		for l, isUsed := range b.used[p.domain] {
			members = b.listMembers(p, uint64(l), members)
			for _, m := range members {
				b.used[1+p.table.number][m] = isUsed || b.used[1+p.table.number][m]
			}
		}
	}
	for n := int(b.firstKeyset) - 1; n >= 0; n-- {
		use(b.tables[n])
	}
	for k := uint64(0); k < b.keyCount; k++ {
		mustBeUsed(b.used[1+k], "values-used", fmt.Sprintf("key %d: value", k))
	}
}

// checkUsed checks the rules of class C on what is used. If series use all lists and all rows of later tables, a row
// that they do not use does not occur as a code.
func (b *block) checkUsed() {
	for _, p := range b.pools {
		mustBeUsed(b.used[p.domain], "list-used", fmt.Sprintf("pool %d: list", p.number))
	}
	for n := int(b.firstKeyset) - 1; n >= int(b.keyCount); n-- {
		mustBeUsed(b.used[1+n], "rows-used", fmt.Sprintf("table %d: row", n))
	}
	for k := uint64(0); k < b.keyCount; k++ {
		b.used[0][b.keyRecords.get(k, keyName)] = true
	}
	mustBeUsed(b.used[0], "symbols-used", "symbol")
}

// formWidth returns the width of the field of a column whose codes have a range, in the block's row form.
func (b *block) formWidth(largest uint64) uint64 {
	w := width(largest)
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

// checkTableForm checks the other rules of class C on tables.
func (b *block) checkTableForm() {
	ends := []uint64{0}
	for _, t := range b.tables {
		ends = append(ends, t.end())
		must(!t.written || t.needed, "leaves-needed", "table %d: leaves are written out", t.number)
		for i, c := range t.columns {
			must(i == 0 || i >= t.ordered() || t.columns[i-1].below.keys[0] < c.below.keys[0], "columns-order",
				"table %d: column %d", t.number, i)
			low, high := t.smallest[i], t.largest[i]
			must(c.base == low && c.width == b.formWidth(high-low), "column-width",
				"table %d: base %d and %d bits for %d to %d", t.number, c.base, c.width, low, high)
		}
	}
	mustPad("rows-padding", b.rows, ends...)
}
