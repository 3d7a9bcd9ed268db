package main

// Section 13: dump.

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// dump writes the dump of a block. It refuses a block that breaks a rule of class R.
func dump(file []byte, to io.Writer) error {
	b, m, err := verifyReading(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	b.dumpFront(p)
	b.dumpTables(p)
	b.dumpPools(p)
	p("series %d\n", b.SeriesCount)
	for ref := uint64(0); ref < b.SeriesCount && b.err == nil; ref++ {
		p("  %d", ref)
		for _, l := range b.series(ref) {
			p(" %s=%s", quote(l.name), quote(l.value))
		}
		p("\n")
	}
	if m != nil {
		p("metrics %d\n", m.rows.count)
		for r := uint64(0); r < m.rows.count; r++ {
			text := func(f int) string { return quote(string(b.metricText(m, m.rows.get(r, f)))) }
			word := func(words []string, f int) string { return words[m.rows.get(r, f)] }
			p("  %d %s %s %s %s %s %s\n", r, text(metricName), word(typeWords, metricType),
				word(temporalityWords, metricTemporality), word(monotonicWords, metricMonotonic), text(metricUnit),
				text(metricDescription))
		}
	}
	if b.err != nil {
		return b.err
	}
	return w.Flush()
}

func (b *block) dumpFront(p func(format string, args ...any)) {
	p("block %s\nformat %d.%d\n", idText(b.ID[:]), b.Major, b.Minor)
	p("features incompat=%d ro_compat=%d compat=%d\n", b.Incompat, b.RoCompat, b.Compat)
	p("file %d bytes\nsections %d\n", b.FileLen, b.SectionCount)
	for _, s := range b.sections {
		name, known := sectionNames[s.Kind]
		if !known {
			name = fmt.Sprintf("optional-%d", s.Kind)
		}
		p("  %s %d offset %d length %d\n", name, s.ID, s.Offset, s.Length)
	}
	if packed, found := b.section(kindPacked); found {
		p("arena %d bytes packed into %d\n", len(b.arena), len(packed))
	}
	p("checks %d offset %d\n", b.chunks(), b.sectionsEnd)
	p("meta\n  series %d\n  labels %d\n", b.SeriesCount, b.LabelCount)
	p("  fingerprint %016x %016x\n", b.Fingerprint[0], b.Fingerprint[1])
	span := func(what string, known bool, span [2]int64) {
		if known {
			p("  %s %d %d\n", what, span[0], span[1])
		} else {
			p("  %s unknown\n", what)
		}
	}
	span("time", b.timeKnown(), b.Time)
	span("window", b.windowKnown(), b.Window)
	if b.JobOutputCount > 0 {
		p("  job %x %d %d\n", b.JobID, b.JobOutput, b.JobOutputCount)
	} else {
		p("  job none\n")
	}
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
	p("  rows %s\n", []string{"fixedwidth", "bitpacked"}[b.RowForm])
	p("symbols %d\n", b.symbolCount)
	for i := uint64(0); i < b.symbolCount; i++ {
		p("  %d %s\n", i, quote(string(b.symbol(i))))
	}
	p("keys %d\n", b.keyCount)
	for k := uint64(0); k < b.keyCount; k++ {
		p("  %d %s values %d\n", k, quote(b.keyName(k)), b.tables[k].rows)
	}
}

func (b *block) dumpTables(p func(format string, args ...any)) {
	p("tables %d\n", b.tableCount)
	for n := range b.tables {
		t := &b.tables[n]
		p("  table %d %s rows %d bits %d\n", n, t.kind, t.rows, t.rowBits)
		for i, c := range t.columns {
			domain := "symbols"
			if c.domain > b.tableCount {
				domain = fmt.Sprintf("pool %d", c.domain-1-b.tableCount)
			} else if c.domain > 0 {
				domain = fmt.Sprintf("table %d", c.domain-1)
			}
			p("    column %d %s base %d bits %d\n", i, domain, c.base, c.end-c.bit)
		}
		for i := 0; t.written && i < len(t.keys); i++ {
			c, position := t.leaf(i)
			p("    leaf %d column %d position %d\n", i, c, position)
		}
		for r := uint64(0); r < t.rows; r++ {
			p("    row %d", r)
			for c := range t.columns {
				p(" %d", b.code(t, r, c))
			}
			if t.kind == dictionaryTable {
				p(" %s", quote(string(b.symbol(b.code(t, r, 0)))))
			}
			p("\n")
		}
	}
}

func (b *block) dumpPools(p func(format string, args ...any)) {
	p("pools %d\n", b.poolCount)
	for n := range b.pools {
		pool := &b.pools[n]
		p("  pool %d table %d lists %d members %d low %d\n", n, pool.table, pool.lists, pool.members, pool.lowWidth)
		var members []uint64
		for l := uint64(0); l < pool.lists; l++ {
			p("    list %d", l)
			members = b.listMembers(pool, l, members)
			for _, member := range members {
				p(" %d", member)
			}
			p("\n")
		}
	}
	p("keysets %d\n", b.keysetCount)
	for n := range b.keysets {
		k := &b.keysets[n]
		p("  keyset %d table %d series %d %d keys", n, k.number, k.first, k.end)
		for _, key := range k.keys {
			p(" %s", quote(b.keyName(uint64(key))))
		}
		p("\n")
		for i := uint64(0); i < k.anchors; i++ {
			p("    anchor %d %d\n", i*anchorRows, b.anchor(k, i))
		}
	}
}

// quote returns a string as the dump shows it.
func quote(text string) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, r := range text {
		if r == '"' || r == '\\' {
			s.WriteByte('\\')
			s.WriteRune(r)
		} else if escaped(r) {
			fmt.Fprintf(&s, "\\u%04x", r)
		} else {
			s.WriteRune(r)
		}
	}
	s.WriteByte('"')
	return s.String()
}

func escaped(r rune) bool {
	for _, span := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x2069}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}
