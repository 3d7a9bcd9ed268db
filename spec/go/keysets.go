package main

// Sections 9 and 12: keysets and series, label policy.

import (
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"
)

// keyset is a keyset, the place of whose anchors is checked.
type keyset struct {
	*table
	first, end                       uint64 // series refs
	anchors, anchorsBit, anchorWidth uint64 // 0 without a list column
}

func (k *keyset) anchorsEnd() uint64 { return k.anchorsBit + k.anchors*k.anchorWidth }

// label is a label of a series.
type label struct{ name, value string }

// readKeysets reads the keysets. All tables and pools are read.
func (b *block) readKeysets() bool {
	first, end := uint64(0), uint64(0)
	if len(b.pools) > 0 {
		end = wholeBytes(b.pools[len(b.pools)-1].endBit())
	}
	for n := uint64(0); n < b.keysetCount; n++ {
		k := keyset{table: &b.tables[b.firstKeyset+n], first: first, end: b.keysetRecords.get(n, keysetEnd)}
		offset, want := b.keysetRecords.get(n, keysetAnchors), uint64(0)
		if k.list {
			want = end
		}
		if !b.must(k.first < k.end && (k.end-k.first == k.table.rows || k.list && k.end-k.first > k.table.rows),
			"keyset-series", "keyset %d has %d rows and series [%d, %d)", n, k.table.rows, k.first, k.end) ||
			!b.must(offset == want, "members-extent", "anchors of keyset %d at %d, not %d", n, offset, want) ||
			!b.must(n == 0 || slices.Compare(b.keysets[n-1].keys, k.keys) < 0, "keyset-order",
				"keyset %d is not after the one before", n) {
			return false
		}
		if k.list {
			k.anchors, k.anchorWidth = (k.table.rows+anchorRows-1)/anchorRows, width(k.end-k.first)
			k.anchorsBit = 8 * offset
			end = wholeBytes(k.anchorsEnd())
			if !b.checkMembersEnd(end) {
				return false
			}
		}
		b.keysets = append(b.keysets, k)
		first = k.end
	}
	if b.poolCount > 0 {
		end += closingLen
	}
	return b.must(uint64(len(b.members)) == end, "members-extent", "%d bytes, should be %d", len(b.members), end)
}

// seriesEnd returns the number of series.
func (b *block) seriesEnd() uint64 {
	if len(b.keysets) == 0 {
		return 0
	}
	return b.keysets[len(b.keysets)-1].end
}

// anchor returns anchor i, the series before row 16 * i.
func (b *block) anchor(k *keyset, i uint64) uint64 {
	return field(b.members, k.anchorsBit+i*k.anchorWidth, k.anchorWidth)
}

// rowList returns the pool of the list column, the list of row r, and the number of its members.
func (b *block) rowList(t *table, r uint64) (p *pool, l, members uint64) {
	last := len(t.columns) - 1
	p = &b.pools[t.columns[last].domain-1-b.tableCount]
	l = b.code(t, r, last)
	from, to := b.list(p, l)
	return p, l, to - from
}

// checkKeysets checks the rules of class R that need a pass over the rows of keysets with a list column.
func (b *block) checkKeysets() {
	for n := range b.keysets {
		k := &b.keysets[n]
		series, wrong := uint64(0), uint64(0) // series: at most (2^32 - 1)^2; wrong: 1 + the first wrong anchor
		for r := uint64(0); k.list && r < k.table.rows; r++ {
			if wrong == 0 && r%anchorRows == 0 && b.anchor(k, r/anchorRows) != series {
				wrong = 1 + r/anchorRows
			}
			_, _, members := b.rowList(k.table, r)
			series += members
		}
		b.must(!k.list || k.end-k.first == series, "keyset-series", "keyset %d has %d series, series_end grows by %d",
			n, series, k.end-k.first)
		b.must(wrong == 0, "anchors", "anchor %d of keyset %d is wrong", wrong-1, n)
	}
}

// series returns the labels of a series ref below seriesEnd.
func (b *block) series(ref uint64) []label {
	k := &b.keysets[sort.Search(len(b.keysets), func(n int) bool { return b.keysets[n].end > ref })]
	row, member := ref-k.first, uint64(0)
	if k.list {
		place := row
		group := uint64(sort.Search(int(k.anchors), func(i int) bool { return b.anchor(k, uint64(i)) > place }))
		if !b.must(group > 0, "anchors", "the first anchor is %d", b.anchor(k, 0)) {
			return nil
		}
		place -= b.anchor(k, group-1)
		row = (group - 1) * anchorRows
		p, l, members := b.rowList(k.table, row)
		for ; place >= members; p, l, members = b.rowList(k.table, row) {
			place -= members
			if row++; !b.must(row < k.table.rows && row < group*anchorRows, "anchors", "anchor %d", group-1) {
				return nil
			}
		}
		member = b.listMembers(p, l, nil)[place]
	}
	labels := make([]label, len(k.keys))
	for i := range labels {
		labels[i] = b.resolve(k.table, row, member, i)
	}
	return labels
}

// resolve resolves leaf i of a row of a keyset table. Each domain is an earlier table, so it ends.
func (b *block) resolve(t *table, row, member uint64, i int) label {
	for t.kind != dictionaryTable {
		c, position := t.leaf(i)
		if t.list && c == len(t.columns)-1 {
			row = member
		} else {
			row = b.code(t, row, c)
		}
		t, i = b.leafTable(&t.columns[c]), position
	}
	return label{b.keyName(t.number), string(b.symbol(b.code(t, row, 0)))}
}

func (b *block) keyName(k uint64) string { return string(b.symbol(b.keyRecords.get(k, keyName))) }

// find returns the series ref of a labelset, after the label policy is applied to it.
func (b *block) find(labels []label) (ref uint64, found bool) {
	type pair struct{ key, value uint64 }
	var pairs []pair
	for _, l := range labels {
		if l.value == "" {
			continue // the same as an absent label
		}
		name, found := b.findSymbol(cut(l.name, b.MaxNameLen))
		value, foundValue := b.findSymbol(cut(l.value, b.MaxValueLen))
		keyOf := func(k int) bool { return b.keyRecords.get(uint64(k), keyName) >= name }
		key := uint64(sort.Search(int(b.keyCount), keyOf))
		if !found || !foundValue || key == b.keyCount || b.keyRecords.get(key, keyName) != name {
			return 0, false
		}
		pairs = append(pairs, pair{key, value})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return int(x.key) - int(y.key) })
	keys, values := make([]uint32, len(pairs)), make([]uint64, len(pairs))
	for i, p := range pairs {
		keys[i], values[i] = uint32(p.key), p.value
	}
	n := sort.Search(len(b.keysets), func(n int) bool { return slices.Compare(b.keysets[n].keys, keys) >= 0 })
	if n == len(b.keysets) || !slices.Equal(b.keysets[n].keys, keys) {
		return 0, false
	}
	k := &b.keysets[n]
	codes, found := b.findCodes(k.table, values)
	if !found {
		return 0, false
	}
	row, found := b.findRow(k.table, codes[:k.prefix()])
	if !found || !k.list {
		return k.first + row, found
	}
	ref = k.first + b.anchor(k, row/anchorRows)
	for r := row - row%anchorRows; r < row; r++ {
		_, _, members := b.rowList(k.table, r)
		ref += members
	}
	p, l, _ := b.rowList(k.table, row)
	members, member := b.listMembers(p, l, nil), codes[len(codes)-1]
	place := sort.Search(len(members), func(i int) bool { return members[i] >= member })
	found = place < len(members) && members[place] == member
	return ref + uint64(place), found && b.must(ref+uint64(place) < k.end, "anchors", "row %d leads to series %d", row, ref+uint64(place))
}

// findCodes finds the codes of a row whose leaves have the values, which are symbols. For a list column it finds the
// member. A dictionary's code is the symbol.
func (b *block) findCodes(t *table, values []uint64) (codes []uint64, found bool) {
	if t.kind == dictionaryTable {
		return values, true
	}
	parts := make([][]uint64, len(t.columns))
	for i, value := range values {
		c, _ := t.leaf(i)
		parts[c] = append(parts[c], value)
	}
	codes = make([]uint64, len(t.columns))
	for c := range codes {
		domain := b.leafTable(&t.columns[c])
		below, found := b.findCodes(domain, parts[c])
		if !found {
			return nil, false
		}
		if codes[c], found = b.findRow(domain, below); !found {
			return nil, false
		}
	}
	return codes, true
}

// findRow finds the row that begins with the codes by binary search.
func (b *block) findRow(t *table, codes []uint64) (row uint64, found bool) {
	have := make([]uint64, len(codes))
	at := sort.Search(int(t.rows), func(r int) bool {
		b.codes(t, uint64(r), have)
		return slices.Compare(have, codes) >= 0
	})
	if row = uint64(at); row == t.rows {
		return row, false
	}
	b.codes(t, row, have)
	return row, slices.Equal(have, codes)
}

const cutTail = 18 // bytes of "~s" and 16 digits

// cut applies a limit of the label policy, which is at least cutTail.
func cut(text string, limit uint32) string {
	if len(text) <= int(limit) {
		return text
	}
	end := int(limit) - cutTail
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s~s%016x", text[:end], sip("chronoxide.cut.0", []byte(text)))
}
