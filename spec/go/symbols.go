package main

// Section 6: symbols.

import (
	"bytes"
	"unicode/utf8"
)

const symbolsHeaderLen = 8

// symbols gives access to the strings of the block.
type symbols struct {
	symbolData, arena          []byte
	symbolCount                uint64
	baseWidth, differenceWidth uint64
}

func (b *block) readSymbols() {
	data, _ := b.section(kindSymbols)
	must(len(data) >= symbolsHeaderLen, "symbols-header", "%d bytes do not hold it", len(data))
	b.symbolData, b.symbolCount = data, uint64(le.Uint32(data))
	b.baseWidth, b.differenceWidth = uint64(data[4]), uint64(data[5])
	must(b.baseWidth <= 48 && b.differenceWidth <= 24 && (b.differenceWidth > 0 || b.symbolCount == 0),
		"symbols-header", "%d symbols, widths %d and %d", b.symbolCount, b.baseWidth, b.differenceWidth)
	want := wholeBytes(b.entryBit(b.symbolCount+1)) + closingLen
	must(uint64(len(data)) == want, "symbols-length", "%d bytes, should be %d", len(data), want)
	b.arena, _ = b.section(kindArena)
	if packed, found := b.section(kindPackedArena); found {
		b.arena = unpack(packed)
		must(b.startOf(b.symbolCount) == uint64(len(b.arena)), "packed-length", "arena: %d bytes", len(b.arena))
	}
}

// entryBit returns the bit of the section at which entry i starts. Of the entries before it, bases are every 16th.
func (s *symbols) entryBit(i uint64) uint64 {
	bases := (i + symbolGroup - 1) / symbolGroup
	return 8*symbolsHeaderLen + bases*s.baseWidth + (i-bases)*s.differenceWidth
}

// startOf returns start(i) for i up to symbol_count.
func (s *symbols) startOf(i uint64) uint64 {
	at := s.entryBit(i)
	start := field(s.symbolData, at, s.entryBit(i+1)-at)
	if i%symbolGroup > 0 {
		start += s.startOf(i - i%symbolGroup)
	}
	return start
}

// symbol returns symbol i, which must be less than the number of symbols.
func (s *symbols) symbol(i uint64) []byte {
	from, to := s.startOf(i), s.startOf(i+1)
	if from >= to || to-from > maxSymbolLen || to > uint64(len(s.arena)) {
		fail("symbols-starts", "symbol %d is [%d, %d) of %d bytes", i, from, to, len(s.arena))
	}
	return s.arena[from:to]
}

// checkSymbols checks the rules of class R that need a pass over all symbols.
func (b *block) checkSymbols() {
	first, last := b.startOf(0), b.startOf(b.symbolCount)
	must(first == 0 && last == uint64(len(b.arena)), "symbols-starts", "from %d to %d", first, last)
	mustBeTexts("symbols-order", "symbols-utf8", b.symbolCount, b.symbol)
}

// mustBeTexts checks order and encoding of strings.
func mustBeTexts(order, encoding string, count uint64, text func(i uint64) []byte) {
	var before []byte
	for i := uint64(0); i < count; i++ {
		now := text(i)
		must(bytes.Compare(before, now) < 0, order, "string %d %q stands after %q", i, now, before)
		must(utf8.Valid(now), encoding, "string %d %q", i, now)
		before = now
	}
}

// checkSymbolForm checks the rules of class C but symbols-used.
func (b *block) checkSymbolForm() {
	base, difference := uint64(0), uint64(0) // starts increase, so the last base is the largest
	for i := uint64(0); i <= b.symbolCount; i++ {
		base = b.startOf(i - i%symbolGroup)
		difference = max(difference, b.startOf(i)-base)
	}
	must(b.baseWidth == width(base) && b.differenceWidth == width(difference), "symbols-widths",
		"base_width %d for %d, difference_width %d for %d", b.baseWidth, base, b.differenceWidth, difference)
	must(le.Uint16(b.symbolData[6:]) == 0, "symbols-padding", "reserved is not zero")
	mustPad("symbols-padding", b.symbolData, b.entryBit(b.symbolCount+1))
}
