package main

// Section 6: symbols.

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

const (
	symbolsHeaderLen = 8
	packedHeaderLen  = 8
)

// symbols gives access to the strings of the block.
type symbols struct {
	symbolData, arena          []byte
	symbolCount                uint64
	baseWidth, differenceWidth uint64
}

func (b *block) readSymbols() bool {
	data, _ := b.section(kindSymbols)
	if !b.must(len(data) >= symbolsHeaderLen, "symbols-header", "%d bytes do not hold it", len(data)) {
		return false
	}
	b.symbolData, b.symbolCount = data, uint64(le.Uint32(data))
	b.baseWidth, b.differenceWidth = uint64(data[4]), uint64(data[5])
	want := wholeBytes(b.entriesEnd()) + closingLen
	return b.must(b.baseWidth <= 48 && b.differenceWidth <= 24 && (b.differenceWidth > 0 || b.symbolCount == 0),
		"symbols-header", "%d symbols, widths %d and %d", b.symbolCount, b.baseWidth, b.differenceWidth) &&
		b.must(uint64(len(data)) == want, "symbols-length", "%d bytes, should be %d", len(data), want) &&
		b.readArena()
}

// readArena takes the arena from its section, or decodes it.
func (b *block) readArena() (ok bool) {
	data, found := b.section(kindArena)
	if b.arena = data; found {
		return true
	}
	data, _ = b.section(kindPacked)
	if !b.must(len(data) >= packedHeaderLen, "packed-header", "%d bytes", len(data)) {
		return false
	}
	arenaLen, frame := le.Uint64(data), data[packedHeaderLen:]
	most := max(freePackedLen, maxPackedRatio*uint64(len(frame)))
	if !b.must(arenaLen <= most, "packed-header", "an arena of %d bytes, at most %d", arenaLen, most) {
		return false
	}
	blocks, window, ok := b.readFrameHeader(frame, arenaLen)
	if !ok {
		return false
	}
	// One byte more is an error too.
	arena, err := decodeBlocks(blocks, int(min(window, maxBlockLen)), int(arenaLen)+1)
	b.arena = arena
	return b.must(err == nil, "packed-frame", "%v", err) &&
		b.must(uint64(len(arena)) == arenaLen, "packed-length", "%d bytes, should be %d", len(arena), arenaLen)
}

// readFrameHeader returns the bytes after the header of a frame, and its window.
func (b *block) readFrameHeader(frame []byte, arenaLen uint64) (blocks []byte, window uint64, ok bool) {
	if !b.must(len(frame) >= 6 && string(frame[:4]) == "\x28\xB5\x2F\xFD", "packed-frame", "not a frame") {
		return nil, 0, false
	}
	descriptor, at := frame[4], 5
	isSingle := descriptor&32 != 0
	if !isSingle {
		window = 1 << (10 + frame[at]>>3)
		window += window / 8 * uint64(frame[at]&7)
		at++
	}
	size := 1 << (descriptor >> 6)
	if size == 1 && !isSingle {
		size = 0
	}
	if !b.must(descriptor&31 == 0 && len(frame) >= at+size, "packed-frame", "features %#x", descriptor&31) {
		return nil, 0, false
	}
	if size > 0 {
		var contentLen uint64
		for i := 0; i < size; i++ {
			contentLen |= uint64(frame[at+i]) << (8 * i)
		}
		if size == 2 {
			contentLen += 256
		}
		if isSingle {
			window = contentLen
		}
		b.must(contentLen == arenaLen, "packed-length", "%d bytes, should be %d", contentLen, arenaLen)
	}
	b.must(window <= maxPackedWindow, "packed-frame", "a window of %d bytes", window)
	return frame[at+size:], window, b.err == nil
}

// entryBit returns the bit of the section at which entry i starts.
func (s *symbols) entryBit(i uint64) uint64 {
	at := 8*symbolsHeaderLen + i/symbolGroup*(s.baseWidth+(symbolGroup-1)*s.differenceWidth)
	if i%symbolGroup > 0 {
		at += s.baseWidth + (i%symbolGroup-1)*s.differenceWidth
	}
	return at
}

func (s *symbols) entryWidth(i uint64) uint64 {
	if i%symbolGroup == 0 {
		return s.baseWidth
	}
	return s.differenceWidth
}

func (s *symbols) entry(i uint64) uint64 { return field(s.symbolData, s.entryBit(i), s.entryWidth(i)) }

// entriesEnd returns the bit after the last entry, which has the number symbol_count.
func (s *symbols) entriesEnd() uint64 { return s.entryBit(s.symbolCount) + s.entryWidth(s.symbolCount) }

// startOf returns start(i) for i up to symbol_count.
func (s *symbols) startOf(i uint64) uint64 {
	if i%symbolGroup == 0 {
		return s.entry(i)
	}
	return s.entry(i-i%symbolGroup) + s.entry(i)
}

// symbol returns symbol i, which must be less than the number of symbols.
func (b *block) symbol(i uint64) []byte {
	from, to := b.startOf(i), b.startOf(i+1)
	if from >= to || to-from > maxSymbolLen || to > uint64(len(b.arena)) {
		b.must(false, "symbols-starts", "symbol %d is [%d, %d) of %d bytes", i, from, to, len(b.arena))
		return nil
	}
	return b.arena[from:to]
}

// findSymbol returns the id of a string by binary search.
func (b *block) findSymbol(text string) (id uint64, found bool) {
	at := sort.Search(int(b.symbolCount), func(i int) bool { return string(b.symbol(uint64(i))) >= text })
	id = uint64(at)
	return id, id < b.symbolCount && string(b.symbol(id)) == text
}

// checkSymbols checks the rules of class R that need a pass over all symbols.
func (b *block) checkSymbols() {
	first, last := b.startOf(0), b.startOf(b.symbolCount)
	b.must(first == 0 && last == uint64(len(b.arena)), "symbols-starts", "starts are %d to %d, the arena has %d bytes",
		first, last, len(b.arena))
	var before []byte
	for i := uint64(0); i < b.symbolCount && b.err == nil; i++ {
		symbol := b.symbol(i)
		if b.err == nil && bytes.Compare(before, symbol) >= 0 {
			b.must(false, "symbols-order", "symbol %d %q stands after %q", i, symbol, before)
		}
		if !utf8.Valid(symbol) {
			b.must(false, "symbols-utf8", "symbol %d %q", i, symbol)
		}
		before = symbol
	}
}

// checkSymbolForm checks the rules of class C but symbols-used.
func (b *block) checkSymbolForm() {
	var largest [2]uint64
	for i := uint64(0); i <= b.symbolCount; i++ {
		kind := min(i%symbolGroup, 1) // 0 a base, 1 a difference
		largest[kind] = max(largest[kind], b.entry(i))
	}
	b.must(b.baseWidth == width(largest[0]) && b.differenceWidth == width(largest[1]), "symbols-widths",
		"base_width %d for %d, difference_width %d for %d", b.baseWidth, largest[0], b.differenceWidth, largest[1])
	b.must(allZero(b.symbolData[6:8]) && zeroAfter(b.symbolData, b.entriesEnd()) &&
		allZero(b.symbolData[len(b.symbolData)-closingLen:]), "symbols-padding", "unused bits are not zero")
}
