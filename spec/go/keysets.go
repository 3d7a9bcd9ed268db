package main

// Sections 8 and 9: anchors, keysets and series.

import "slices"

// keyset is a keyset. It has anchors if its table has a list column.
type keyset struct {
	*table
	first, end                uint64 // series refs
	anchorsStart, anchorWidth uint64 // bit of the members section
}

// label is a label of a series.
type label struct{ name, value string }

// readKeysets reads the keysets. All tables and pools are read.
func (b *block) readKeysets() {
	first, end := uint64(0), uint64(0)
	if len(b.pools) > 0 {
		end = wholeBytes(b.pools[len(b.pools)-1].end())
	}
	for n, t := range b.tables[b.firstKeyset:] {
		r := &b.keysetRecords
		k := &keyset{table: t, first: first, end: r.get(uint64(n), keysetEnd)}
		offset := r.get(uint64(n), keysetAnchors)
		must(first < k.end, "keyset-series", "keyset %d has series [%d, %d)", n, first, k.end)
		must(n == 0 || slices.Compare(b.keysets[n-1].keys, k.keys) < 0, "keyset-order", "keyset %d", n)
		want := uint64(0)
		if k.list != nil {
			want, k.anchorsStart, k.anchorWidth = end, 8*end, width(k.end-first)
			end = wholeBytes(k.anchorsEnd())
		}
		must(offset == want, "members-extent", "anchors of keyset %d at byte %d, not %d", n, offset, want)
		b.keysets = append(b.keysets, k)
		first = k.end
	}
	if len(b.pools) > 0 {
		end += closingLen
	}
	must(uint64(len(b.members)) == end, "members-extent", "%d bytes, should be %d", len(b.members), end)
}

// checkSeries checks the number of series of each keyset, and the anchors.
func (b *block) checkSeries() {
	for n, k := range b.keysets {
		series, areRight := uint64(0), true // at most (2^32 - 1)^2
		for r := uint64(0); r < k.rows; r++ {
			areRight = areRight && (k.list == nil || r%anchorRows != 0 || b.anchor(k, r/anchorRows) == series)
			series += b.rowSeries(k, r)
		}
		must(series == k.end-k.first, "keyset-series", "keyset %d has %d series, not %d", n, series, k.end-k.first)
		must(areRight, "anchors", "an anchor of keyset %d", n)
	}
}

// anchor returns anchor i, the series before row 16 * i.
func (b *block) anchor(k *keyset, i uint64) uint64 {
	return field(b.members, k.anchorsStart+i*k.anchorWidth, k.anchorWidth)
}

// anchors returns the number of anchors of a keyset with a list column.
func (k *keyset) anchors() uint64    { return (k.rows + anchorRows - 1) / anchorRows }
func (k *keyset) anchorsEnd() uint64 { return k.anchorsStart + k.anchors()*k.anchorWidth }

// rowSeries returns the number of series of row r.
func (b *block) rowSeries(k *keyset, r uint64) uint64 {
	if k.list == nil {
		return 1
	}
	from, to := b.list(k.list, b.code(k.table, r, k.ordered()))
	return to - from
}

// rowMembers sets members to those of the list of row r, or without a list column to 0, which stands for one series.
func (b *block) rowMembers(k *keyset, r uint64, members []uint64) []uint64 {
	if k.list == nil {
		return append(members[:0], 0)
	}
	return b.listMembers(k.list, b.code(k.table, r, k.ordered()), members)
}

// eachSeries calls do with the labels of all series, in the order of their refs.
func (b *block) eachSeries(do func(labels []label)) {
	var members []uint64
	for _, k := range b.keysets {
		for r := uint64(0); r < k.rows; r++ {
			members = b.rowMembers(k, r, members)
			for _, member := range members {
				labels := make([]label, len(k.keys))
				for i := range labels {
					labels[i] = b.resolve(k.table, r, member, i)
				}
				do(labels)
			}
		}
	}
}

// resolve resolves leaf i of a row of a keyset table. Each domain is an earlier table, so it ends.
func (b *block) resolve(t *table, row, member uint64, i int) label {
	for t.kind != dictionaryTable {
		c, position := t.leaf(i)
		if t.list != nil && c == t.ordered() {
			row = member
		} else {
			row = b.code(t, row, c)
		}
		t, i = t.columns[c].below, position
	}
	return label{b.keyName(t.number), string(b.symbol(b.code(t, row, 0)))}
}

func (b *block) keyName(k uint64) string { return string(b.symbol(b.keyRecords.get(k, keyName))) }
