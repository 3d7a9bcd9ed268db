package main

// Sections 9 and 12 as a reader of labelsets needs them: to find a series, and the label policy.

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"
)

// find returns the series ref of a labelset, after the label policy is applied to it.
func (b *block) find(labels []label) (ref uint64, found bool) {
	type pair struct {
		key   uint32
		value uint64
	}
	var pairs []pair
	for _, l := range labels {
		if l.value == "" {
			continue // the same as an absent label
		}
		name, hasName := b.findSymbol(cut(l.name, b.MaxNameLen))
		value, hasValue := b.findSymbol(cut(l.value, b.MaxValueLen))
		key := sort.Search(int(b.keyCount), func(k int) bool { return b.keyRecords.get(uint64(k), keyName) >= name })
		if !hasName || !hasValue || key == int(b.keyCount) || b.keyRecords.get(uint64(key), keyName) != name {
			return 0, false
		}
		pairs = append(pairs, pair{uint32(key), value})
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
	keys, values := make([]uint32, len(pairs)), make([]uint64, len(pairs))
	for i, p := range pairs {
		keys[i], values[i] = p.key, p.value
	}
	n, found := slices.BinarySearchFunc(b.keysets, keys, func(k *keyset, keys []uint32) int {
		return slices.Compare(k.keys, keys)
	})
	if !found {
		return 0, false
	}
	k := b.keysets[n]
	codes, found := b.findCodes(k.table, values)
	if !found {
		return 0, false
	}
	row, found := b.findRow(k.table, codes[:k.ordered()])
	if !found || k.list == nil {
		return k.first + row, found
	}
	ref = k.first + b.anchor(k, row/anchorRows)
	for r := row - row%anchorRows; r < row; r++ {
		ref += b.rowSeries(k, r)
	}
	place, found := slices.BinarySearch(b.rowMembers(k, row, nil), codes[k.ordered()])
	return ref + uint64(place), found
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
		below := t.columns[c].below
		codesBelow, found := b.findCodes(below, parts[c])
		if !found {
			return nil, false
		}
		if codes[c], found = b.findRow(below, codesBelow); !found {
			return nil, false
		}
	}
	return codes, true
}

// findRow finds the row that begins with the codes by binary search.
func (b *block) findRow(t *table, codes []uint64) (row uint64, found bool) {
	at, found := sort.Find(int(t.rows), func(r int) int {
		return slices.Compare(codes, b.codes(t, uint64(r))[:len(codes)])
	})
	return uint64(at), found
}

// findSymbol returns the id of a string by binary search.
func (b *block) findSymbol(text string) (id uint64, found bool) {
	at, found := sort.Find(int(b.symbolCount), func(i int) int { return cmp.Compare(text, string(b.symbol(uint64(i)))) })
	return uint64(at), found
}

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
