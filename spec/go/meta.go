package main

// Section 10: meta.

import (
	"encoding/binary"
	"unicode/utf8"
)

const (
	bitPacked = 1  // row_form
	cutTail   = 18 // bytes at the end of a string that is cut (section 12): the least limit
)

type metaHeader struct {
	SeriesCount, LabelCount          uint64
	Fingerprint                      [2]uint64
	Spans                            [2][2]int64 // time range and window: start, end
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
	ids   [2][]string // parents, ancestors
	pairs [2][]label  // external labels, annotations
}

// spanKnown tells whether the time range, or the window, is known.
func (m *meta) spanKnown(i int) bool { return m.Flags>>i&1 == 1 }

// readMeta reads the section and checks the rules of class R that need nothing else of the block.
func (b *block) readMeta() {
	m := &b.meta
	data, _ := b.section(kindMeta)
	take := func(n int) []byte { // the length of the section bounds the counts
		must(n <= len(data), "meta-length", "%d bytes are missing", n-len(data))
		taken := data[:n]
		data = data[n:]
		return taken
	}
	decode(take(binary.Size(m.metaHeader)), &m.metaHeader)
	for i := range m.ids {
		for n := m.IDCounts[i]; n > 0; n-- {
			m.ids[i] = append(m.ids[i], string(take(16)))
		}
	}
	for i := range m.pairs {
		for n := m.PairCounts[i]; n > 0; n-- {
			lens := take(4)
			key, value := take(int(le.Uint16(lens))), take(int(le.Uint16(lens[2:])))
			m.pairs[i] = append(m.pairs[i], label{string(key), string(value)})
		}
	}
	must(len(data) == 0, "meta-length", "%d bytes follow the content", len(data))
	for i, span := range m.Spans {
		known := m.spanKnown(i)
		must(known && span[0] < span[1] || !known && span == [2]int64{}, "meta-time", "%d, known: %t", span, known)
	}
	noID := m.JobID == [16]byte{}
	must(m.JobOutput < m.JobOutputCount && !noID || m.JobOutputCount == 0 && m.JobOutput == 0 && noID,
		"meta-job", "job %x, output %d of %d", m.JobID, m.JobOutput, m.JobOutputCount)
	for i, pairs := range m.pairs {
		for n, p := range pairs {
			must(p.name != "" && (p.value != "" || i == 1) && utf8.ValidString(p.name) && utf8.ValidString(p.value) &&
				(n == 0 || pairs[n-1].name < p.name), "meta-pairs", "pair %d %q=%q", n, p.name, p.value)
		}
	}
	for _, limit := range []uint32{m.MaxNameLen, m.MaxValueLen} {
		must(limit >= cutTail && limit <= maxSymbolLen, "meta-policy", "a limit of %d", limit)
	}
}

// checkMetaForm checks the rules of class C.
func (b *block) checkMetaForm() {
	must(b.RowForm <= bitPacked && b.Flags <= 3 && b.Reserved == 0, "meta-padding", "row_form, flags or reserved")
	isParent := map[string]bool{}
	for i, ids := range b.ids {
		for n, id := range ids {
			must((n == 0 || ids[n-1] < id) && !isParent[id], "meta-parents", "%s", idText([]byte(id)))
			isParent[id] = i == 0
		}
	}
}

// checkMeta checks the rules of class R on what the meta section says of the rest of the block, and the id.
func (b *block) checkMeta() {
	for _, t := range b.tables[:b.keyCount] {
		n := len(b.keyName(t.number))
		must(n <= int(b.MaxNameLen), "policy-kept", "name of key %d has %d bytes", t.number, n)
		for r := uint64(0); r < t.rows; r++ {
			n := len(b.symbol(b.code(t, r, 0)))
			must(n <= int(b.MaxValueLen), "policy-kept", "value %d of key %d has %d bytes", r, t.number, n)
		}
	}
	series, labels := uint64(0), uint64(0) // at most 2^32 * 1023
	for _, k := range b.keysets {
		series = k.end
		labels += (k.end - k.first) * uint64(len(k.keys))
	}
	must(b.SeriesCount == series && b.LabelCount == labels, "meta-counts", "%d series and %d labels", series, labels)
	fingerprint, id := b.fingerprint(), b.blockID()
	must(b.Fingerprint == fingerprint, "fingerprint", "stored %016x, computed %016x", b.Fingerprint, fingerprint)
	must(b.ID == id, "block-id", "stored %s, computed %s", idText(b.ID[:]), idText(id[:]))
}
