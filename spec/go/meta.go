package main

// Section 10: meta.

import (
	"encoding/binary"
	"unicode/utf8"
)

const bitPacked = 1 // row_form

type metaHeader struct {
	SeriesCount, LabelCount          uint64
	Fingerprint                      [2]uint64
	Time, Window                     [2]int64 // start, end
	JobID                            [16]byte
	JobOutput, JobOutputCount        uint32
	IDCounts                         [2]uint32 // parents, ancestors
	PairCounts                       [2]uint32 // external labels, annotations
	MaxNameLen, MaxValueLen, Planner uint32
	RowForm, Flags                   uint8
	Reserved                         uint16
}

// meta holds the meta section.
type meta struct {
	metaHeader
	metaData []byte
	ids      [2][]string // parents, ancestors
	pairs    [2][]label  // external labels, annotations
}

func (m *meta) timeKnown() bool   { return m.Flags&1 != 0 }
func (m *meta) windowKnown() bool { return m.Flags&2 != 0 }

// readMeta reads the section and checks the rules of class R that need nothing else of the block.
func (b *block) readMeta() bool {
	m := &b.meta
	data, _ := b.section(kindMeta)
	headerLen := binary.Size(m.metaHeader)
	if !b.must(len(data) >= headerLen && len(data) <= maxMetaLen, "meta-header", "%d bytes", len(data)) {
		return false
	}
	m.metaData = data
	decode(data, &m.metaHeader)
	rest := data[headerLen:]
	// take returns the next n bytes. The length of the section bounds the counts.
	take := func(n int) []byte {
		if !b.must(n <= len(rest), "meta-length", "the section ends in what follows its header") {
			return nil
		}
		taken := rest[:n]
		rest = rest[n:]
		return taken
	}
	for i := range m.ids {
		for n := m.IDCounts[i]; n > 0 && b.err == nil; n-- {
			m.ids[i] = append(m.ids[i], string(take(16)))
		}
	}
	for i := range m.pairs {
		for n := m.PairCounts[i]; n > 0 && b.err == nil; n-- {
			if lens := take(4); lens != nil {
				key, value := take(int(le.Uint16(lens))), take(int(le.Uint16(lens[2:])))
				m.pairs[i] = append(m.pairs[i], label{string(key), string(value)})
			}
		}
	}
	b.must(len(rest) == 0, "meta-length", "%d bytes follow the content", len(rest))
	b.must(m.RowForm <= bitPacked, "meta-values", "row_form is %d", m.RowForm)
	for _, r := range []struct {
		known bool
		span  [2]int64
	}{{m.timeKnown(), m.Time}, {m.windowKnown(), m.Window}} {
		b.must(r.known && r.span[0] < r.span[1] || !r.known && r.span == [2]int64{}, "meta-time", "%d, known: %t",
			r.span, r.known)
	}
	noID := m.JobID == [16]byte{}
	b.must(m.JobOutput < m.JobOutputCount && !noID || m.JobOutputCount == 0 && m.JobOutput == 0 && noID,
		"meta-job", "job %x, output %d of %d", m.JobID, m.JobOutput, m.JobOutputCount)
	for i, pairs := range m.pairs {
		for n, p := range pairs {
			b.must(p.name != "" && (p.value != "" || i == 1) && utf8.ValidString(p.name) && utf8.ValidString(p.value) &&
				(n == 0 || pairs[n-1].name < p.name), "meta-pairs", "pair %d %q=%q", n, p.name, p.value)
		}
	}
	return b.must(m.MaxNameLen >= cutTail && m.MaxNameLen <= maxSymbolLen && m.MaxValueLen >= cutTail &&
		m.MaxValueLen <= maxSymbolLen, "meta-policy", "limits %d and %d", m.MaxNameLen, m.MaxValueLen) && b.err == nil
}

// checkMetaForm checks the rules of class C.
func (b *block) checkMetaForm() {
	b.must(b.Flags <= 3 && b.Reserved == 0, "meta-padding", "flags %#x, reserved %#x", b.Flags, b.Reserved)
	parents := map[string]bool{}
	for i, ids := range b.ids {
		for n, id := range ids {
			b.must(n == 0 || ids[n-1] < id, "meta-parents", "%s does not increase", idText([]byte(id)))
			b.must(i == 0 || !parents[id], "meta-parents", "%s is both", idText([]byte(id)))
			parents[id] = parents[id] || i == 0
		}
	}
}

// checkMeta checks the rules of class R on what the meta section says of the rest of the block.
func (b *block) checkMeta() {
	for k := uint64(0); k < b.keyCount; k++ {
		n := len(b.keyName(k))
		b.must(n <= int(b.MaxNameLen), "policy-kept", "name of key %d has %d bytes", k, n)
		for r := uint64(0); r < b.tables[k].rows; r++ {
			if n := len(b.symbol(b.code(&b.tables[k], r, 0))); n > int(b.MaxValueLen) {
				b.must(false, "policy-kept", "value %d of key %d has %d bytes", r, k, n)
			}
		}
	}
	labels := uint64(0) // at most 2^32 * 1023
	for _, k := range b.keysets {
		labels += (k.end - k.first) * uint64(len(k.keys))
	}
	b.must(b.SeriesCount == b.seriesEnd() && b.LabelCount == labels, "meta-counts",
		"%d series and %d labels, should be %d and %d", b.SeriesCount, b.LabelCount, b.seriesEnd(), labels)
	fingerprint := b.fingerprint()
	b.must(b.Fingerprint == fingerprint, "fingerprint", "stored %016x, computed %016x", b.Fingerprint, fingerprint)
	id := b.blockID()
	b.must(b.ID == id, "block-id", "stored %s, computed %s", idText(b.ID[:]), idText(id[:]))
}
