package main

import (
	"bytes"
	"encoding/binary"
)

// This file is a writer of small blocks. It trusts its caller: a test that breaks a rule describes a block that does.

// bitWriter is a bit stream that grows.
type bitWriter struct {
	data []byte
	n    uint64
}

func (s *bitWriter) put(v, w uint64) {
	for i := uint64(0); i < w; i++ {
		if s.n%8 == 0 {
			s.data = append(s.data, 0)
		}
		s.data[s.n/8] |= byte(v>>i&1) << (s.n % 8)
		s.n++
	}
}

// pack ends a pack.
func (s *bitWriter) pack() { s.n = 8 * uint64(len(s.data)) }

// putRecords writes an array of records and returns the widths of their fields.
func (s *bitWriter) putRecords(widths []byte, records [][]uint64) {
	for f := range widths {
		for _, record := range records {
			widths[f] = max(widths[f], byte(width(record[f])))
		}
	}
	for _, record := range records {
		for f, v := range record {
			s.put(v, uint64(widths[f]))
		}
	}
	s.pack()
}

// testKey is a key: the symbols of its name and values.
type testKey struct {
	name   uint64
	values []uint64
}

// testTable is a table that is not a dictionary. The domains are as in a shape, and leaves are columns.
type testTable struct {
	domains []uint64
	leaves  []uint64
	rows    [][]uint64
}

type testPool struct {
	table, low uint64
	lists      [][]uint64
}

type testSection struct {
	kind, id uint32
	data     []byte
}

// testBlock describes a block. The last tables are those of the keysets.
type testBlock struct {
	symbols  []string
	keys     []testKey
	tables   []testTable
	pools    []testPool
	keysets  int
	labels   uint64
	sections []testSection // optional ones
	parents  int
	form     uint8 // row_form
	roCompat uint32
	packed   bool                                  // the arena
	change   func(kind uint32, data []byte) []byte // changes a section before the file is sealed
}

// frame returns a packed section with one raw block.
func frame(content []byte) []byte {
	data := le.AppendUint64(nil, uint64(len(content)))
	data = append(data, "\x28\xB5\x2F\xFD\xA0"...)
	data = le.AppendUint32(data, uint32(len(content)))
	head := le.AppendUint32(nil, uint32(len(content))<<3|1)
	return append(append(data, head[:3]...), content...)
}

func encode(value any) []byte {
	var data bytes.Buffer
	binary.Write(&data, le, value)
	return data.Bytes()
}

// fieldWidth returns the width of a field for a range of codes.
func (d *testBlock) fieldWidth(codes uint64) uint64 {
	return (&block{meta: meta{metaHeader: metaHeader{RowForm: d.form}}}).formWidth(codes)
}

// build returns the file, with right checksums, fingerprint and id.
func (d testBlock) build() []byte {
	var h catalogueHeader
	var catalogue, shapes, rows, members, starts bitWriter
	var keys, tables, pools, keysets, shapeFields [][]uint64
	rowsOf := func(t testTable, ends *[]uint64, bases *[]uint64) uint64 {
		offset, end := uint64(len(rows.data)), uint64(0)
		for c := range t.rows[0] {
			low, high := t.rows[0][c], uint64(0)
			for _, row := range t.rows {
				low, high = min(low, row[c]), max(high, row[c])
			}
			end += d.fieldWidth(high - low)
			*bases, *ends = append(*bases, low), append(*ends, end)
		}
		for _, row := range t.rows {
			before := uint64(0)
			for c, code := range row {
				rows.put(code-(*bases)[c], (*ends)[c]-before)
				before = (*ends)[c]
			}
		}
		rows.pack()
		return offset
	}
	for _, k := range d.keys {
		t := testTable{}
		for _, v := range k.values {
			t.rows = append(t.rows, []uint64{v})
		}
		var ends, bases []uint64
		offset := rowsOf(t, &ends, &bases)
		keys = append(keys, []uint64{k.name, uint64(len(k.values)), offset, bases[0], ends[0]})
	}
	for _, t := range d.tables {
		domain := uint64(0)
		for _, n := range t.domains {
			domain = max(domain, n)
		}
		shapeFields = append(shapeFields, []uint64{uint64(len(t.domains)), uint64(len(t.leaves)), domain})
	}
	(&bitWriter{}).putRecords(h.ShapeWidths[:], shapeFields)
	var anchors []func() // of the keysets with a list column, which follow the pools
	series := uint64(0)
	for n, t := range d.tables {
		var ends, bases []uint64
		offset := rowsOf(t, &ends, &bases)
		tables = append(tables, []uint64{uint64(len(t.rows)), offset, shapes.n})
		base := uint64(0)
		for _, b := range bases {
			base = max(base, b)
		}
		shapes.put(uint64(len(t.domains)), uint64(h.ShapeWidths[0]))
		shapes.put(uint64(len(t.leaves)), uint64(h.ShapeWidths[1]))
		shapes.put(width(base), 6)
		shapes.put(width(ends[len(ends)-1]), 4)
		for c, domain := range t.domains {
			shapes.put(domain, uint64(h.ShapeWidths[2]))
			shapes.put(bases[c], width(base))
			shapes.put(ends[c], width(ends[len(ends)-1]))
		}
		for _, c := range t.leaves {
			shapes.put(c, width(uint64(len(t.domains)-1)))
		}
		if n < len(d.tables)-d.keysets {
			continue
		}
		first, before := series, []uint64{0}
		last := t.domains[len(t.domains)-1] - 1 - uint64(len(d.keys)+len(d.tables))
		for _, row := range t.rows {
			if last < uint64(len(d.pools)) {
				series += uint64(len(d.pools[last].lists[row[len(row)-1]]))
			} else {
				series++
			}
			before = append(before, series-first)
		}
		record := []uint64{series, 0}
		keysets = append(keysets, record)
		if last < uint64(len(d.pools)) {
			w := width(series - first)
			anchors = append(anchors, func() {
				record[1] = uint64(len(members.data))
				for i := 0; i < len(before)-1; i += anchorRows {
					members.put(before[i], w)
				}
				members.pack()
			})
		}
	}
	for _, p := range d.pools {
		count, offset := uint64(0), uint64(len(members.data))
		for _, list := range p.lists {
			count += uint64(len(list))
		}
		pools = append(pools, []uint64{p.table, uint64(len(p.lists)), count, p.low, offset})
		end, w := uint64(0), width(count)
		for _, list := range p.lists {
			end += uint64(len(list))
			members.put(end, w)
		}
		members.pack()
		var rowCount uint64
		if p.table < uint64(len(d.keys)) {
			rowCount = uint64(len(d.keys[p.table].values))
		} else {
			rowCount = uint64(len(d.tables[p.table-uint64(len(d.keys))].rows))
		}
		for _, list := range p.lists {
			for _, m := range list {
				members.put(m, p.low)
			}
			if steps := (rowCount - 1) >> p.low; steps > 0 {
				upper := make([]uint64, uint64(len(list))+steps)
				for i, m := range list {
					upper[m>>p.low+uint64(i)] = 1
				}
				for _, bit := range upper {
					members.put(bit, 1)
				}
			}
		}
		members.pack()
	}
	for _, write := range anchors {
		write()
	}
	closing := make([]byte, closingLen)
	if len(d.pools) > 0 {
		members.data = append(members.data, closing...)
	}
	rows.data = append(rows.data, closing...)

	h.KeyCount, h.TableCount = uint32(len(d.keys)), uint32(len(d.keys)+len(d.tables))
	h.PoolCount, h.KeysetCount, h.ShapeBits = uint32(len(d.pools)), uint32(d.keysets), shapes.n
	catalogue.putRecords(h.KeyWidths[:], keys)
	catalogue.putRecords(h.TableWidths[:], tables)
	catalogue.data = append(catalogue.data, shapes.data...)
	catalogue.pack()
	catalogue.putRecords(h.PoolWidths[:], pools)
	catalogue.putRecords(h.KeysetWidths[:], keysets)
	catalogue.data = append(append(encode(h), catalogue.data...), closing...)

	var arena []byte
	bases, differences := []uint64{}, []uint64{}
	for i := 0; i <= len(d.symbols); i++ {
		if start := uint64(len(arena)); i%symbolGroup == 0 {
			bases = append(bases, start)
		} else {
			differences = append(differences, start-bases[len(bases)-1])
		}
		if i < len(d.symbols) {
			arena = append(arena, d.symbols[i]...)
		}
	}
	baseWidth, differenceWidth := width(bases[len(bases)-1]), uint64(0)
	for _, v := range differences {
		differenceWidth = max(differenceWidth, width(v))
	}
	for i := 0; i <= len(d.symbols); i++ {
		if i%symbolGroup == 0 {
			starts.put(bases[i/symbolGroup], baseWidth)
		} else {
			starts.put(differences[i-i/symbolGroup-1], differenceWidth)
		}
	}
	symbols := le.AppendUint32(nil, uint32(len(d.symbols)))
	symbols = append(append(symbols, byte(baseWidth), byte(differenceWidth), 0, 0), starts.data...)
	symbols = append(symbols, closing...)

	m := metaHeader{SeriesCount: series, LabelCount: d.labels, MaxNameLen: maxSymbolLen, MaxValueLen: maxSymbolLen,
		RowForm: d.form, IDCounts: [2]uint32{uint32(d.parents), 0}}
	metaData := encode(m)
	for i := 0; i < d.parents; i++ {
		metaData = append(metaData, make([]byte, 12)...)
		metaData = binary.BigEndian.AppendUint32(metaData, uint32(i))
	}
	sections := []testSection{{kindMeta, 0, metaData}, {kindCatalogue, 0, catalogue.data}, {kindSymbols, 0, symbols},
		{kindRows, 0, rows.data}, {kindMembers, 0, members.data}, {kindArena, 0, arena}}
	head := header{Major: 1, RoCompat: d.roCompat}
	copy(head.Magic[:], magic)
	if d.packed {
		sections[5] = testSection{kindPackedArena, 0, frame(arena)}
		head.Incompat = isArchive
	}
	return assemble(head, append(sections, d.sections...), d.change)
}

// assemble makes a file of its sections.
func assemble(head header, sections []testSection, change func(kind uint32, data []byte) []byte) []byte {
	var directory, content []byte
	start := headerLen + uint64(len(sections))*entryLen
	for _, s := range sections {
		if change != nil {
			s.data = change(s.kind, s.data)
		}
		directory = append(directory, encode(section{s.kind, s.id, start + uint64(len(content)), uint64(len(s.data))})...)
		content = append(content, s.data...)
	}
	head.SectionCount = uint32(len(sections))
	chunks := (start + uint64(len(content)) + chunkLen - 1) / chunkLen
	head.FileLen = start + uint64(len(content)) + 4*chunks
	file := append(append(encode(head), directory...), content...)
	file = append(file, make([]byte, 4*chunks)...)
	sealIdentity(file)
	return file
}
