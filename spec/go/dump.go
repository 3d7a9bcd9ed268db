package main

// Section 13: dump.

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// dump writes the dump of a block. It refuses a block that breaks a rule of class R.
func dump(file []byte, to io.Writer) error {
	b, err := read(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	b.dumpFront(p)
	b.dumpTables(p)
	b.dumpPools(p)
	b.dumpKeysets(p)
	if m := b.metrics; m != nil {
		p("metrics %d\n", m.rows.count)
		for r := uint64(0); r < m.rows.count; r++ {
			p("  %d", r)
			for f := range m.rows.widths {
				p(" %s", m.word(r, f))
			}
			p("\n")
		}
	}
	if len(b.columns) > 0 {
		p("columns %d\n", len(b.columns))
	}
	for i, c := range b.columns {
		p("  column %d %s %s %s unit %d\n", i, quote(string(c.name)), valueTypes[c.valueType], merges[c.merge].word, c.unit)
		for ref := uint64(0); ref < b.SeriesCount; ref++ {
			p("    %d %s\n", ref, c.value(ref))
		}
	}
	return w.Flush()
}

type printf func(format string, args ...any)

// either returns what the format says if ok, else the word.
func either(ok bool, word, format string, args ...any) string {
	if ok {
		return fmt.Sprintf(format, args...)
	}
	return word
}

// numbers returns numbers with spaces between them.
func numbers(all []uint64) string { return strings.Trim(fmt.Sprint(all), "[]") }

// word returns the word for a number.
func word(words []string, n uint64) string {
	if n < uint64(len(words)) {
		return words[n]
	}
	return fmt.Sprintf("unknown-%d", n)
}

func (b *block) dumpFront(p printf) {
	p("block %s\nformat %d.%d\n", idText(b.ID[:]), b.Major, b.Minor)
	p("features incompat=%d ro_compat=%d compat=%d\n", b.Incompat, b.RoCompat, b.Compat)
	p("file %d bytes\nsections %d\n", b.FileLen, b.SectionCount)
	for _, s := range b.sections {
		name, known := sectionNames[s.Kind]
		p("  %s %d offset %d length %d\n", either(!known, name, "optional-%d", s.Kind), s.ID, s.Offset, s.Length)
	}
	if packed, found := b.section(kindPackedArena); found {
		p("arena %d bytes packed into %d\n", len(b.arena), len(packed))
	}
	p("checks %d offset %d\n", b.chunks(), b.sectionsEnd)
	p("meta\n  series %d\n  labels %d\n", b.SeriesCount, b.LabelCount)
	p("  fingerprint %016x %016x\n", b.Fingerprint[0], b.Fingerprint[1])
	for i, what := range []string{"time", "window"} {
		p("  %s %s\n", what, either(b.spanKnown(i), "unknown", "%d %d", b.Spans[i][0], b.Spans[i][1]))
	}
	p("  job %s\n", either(b.JobOutputCount > 0, "none", "%x %d %d", b.JobID, b.JobOutput, b.JobOutputCount))
	for i, what := range []string{"parent", "ancestor"} {
		for _, id := range b.ids[i] {
			p("  %s %s\n", what, idText([]byte(id)))
		}
	}
	for i, what := range []string{"external", "annotation"} {
		for _, pair := range b.pairs[i] {
			p("  %s %s %s\n", what, quote(pair.name), quote(pair.value))
		}
	}
	p("  policy %d %d\n  planner %d\n", b.MaxNameLen, b.MaxValueLen, b.Planner)
	p("  rows %s\n", word([]string{"fixedwidth", "bitpacked"}, uint64(b.RowForm)))
	p("symbols %d\n", b.symbolCount)
	for i := uint64(0); i < b.symbolCount; i++ {
		p("  %d %s\n", i, quote(string(b.symbol(i))))
	}
	p("keys %d\n", b.keyCount)
	for k := uint64(0); k < b.keyCount; k++ {
		p("  %d %s values %d\n", k, quote(b.keyName(k)), b.tables[k].rows)
	}
}

func (b *block) dumpTables(p printf) {
	p("tables %d\n", b.tableCount)
	for _, t := range b.tables {
		p("  table %d %s rows %d bits %d\n", t.number, t.kind, t.rows, t.rowBits)
		for i, c := range t.columns {
			domain := either(c.domain > 0, "symbols", "table %d", c.domain-1)
			domain = either(c.domain > b.tableCount, domain, "pool %d", c.domain-1-b.tableCount)
			p("    column %d %s base %d bits %d\n", i, domain, c.base, c.width)
		}
		for i := 0; t.written && i < len(t.keys); i++ {
			c, position := t.leaf(i)
			p("    leaf %d column %d position %d\n", i, c, position)
		}
		for r := uint64(0); r < t.rows; r++ {
			p("    row %d %s", r, numbers(b.codes(t, r)))
			if t.kind == dictionaryTable {
				p(" %s", quote(string(b.symbol(b.code(t, r, 0)))))
			}
			p("\n")
		}
	}
}

func (b *block) dumpPools(p printf) {
	p("pools %d\n", len(b.pools))
	var members []uint64
	for n, pool := range b.pools {
		p("  pool %d table %d lists %d members %d low %d\n", n, pool.table.number, pool.lists, pool.members,
			pool.lowWidth)
		for l := uint64(0); l < pool.lists; l++ {
			members = b.listMembers(pool, l, members)
			p("    list %d %s\n", l, numbers(members))
		}
	}
}

func (b *block) dumpKeysets(p printf) {
	p("keysets %d\n", len(b.keysets))
	for n, k := range b.keysets {
		p("  keyset %d table %d series %d %d keys", n, k.number, k.first, k.end)
		for _, key := range k.keys {
			p(" %s", quote(b.keyName(uint64(key))))
		}
		p("\n")
		for i := uint64(0); k.list != nil && i < k.anchors(); i++ {
			p("    anchor %d %d\n", i*anchorRows, b.anchor(k, i))
		}
	}
	p("series %d\n", b.SeriesCount)
	ref := 0
	b.eachSeries(func(labels []label) {
		p("  %d", ref)
		for _, l := range labels {
			p(" %s=%s", quote(l.name), quote(l.value))
		}
		p("\n")
		ref++
	})
}

// escaped are the characters that the dump shows as \u and digits.
var escaped = &unicode.RangeTable{R16: []unicode.Range16{{0, 0x1f, 1}, {0x7f, 0x9f, 1}, {0x61c, 0x61c, 1},
	{0x180e, 0x180e, 1}, {0x200b, 0x200f, 1}, {0x2028, 0x202e, 1}, {0x2060, 0x2069, 1}, {0xfeff, 0xfeff, 1},
	{0xfff9, 0xfffb, 1}}}

// quote returns a string as the dump shows it.
func quote(text string) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, r := range text {
		switch {
		case unicode.Is(escaped, r):
			fmt.Fprintf(&s, "\\u%04x", r)
		case r == '"' || r == '\\':
			s.WriteByte('\\')
			fallthrough
		default:
			s.WriteRune(r)
		}
	}
	s.WriteByte('"')
	return s.String()
}
