package main

// Section 1: bit streams, packs, and broken rules.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

var le = binary.LittleEndian

// closingLen is the number of zero bytes after a bit stream.
const closingLen = 8

// ruleError names a broken rule. The reason holds the values that break it.
type ruleError struct{ rule, reason string }

func (e *ruleError) Error() string { return e.rule + ": " + e.reason }

// fail ends reading with a broken rule. The function that was called to read has a deferred catch.
func fail(rule, format string, args ...any) { panic(&ruleError{rule, fmt.Sprintf(format, args...)}) }

// must fails unless ok. The functions that are called most call fail, which costs nothing where the rule is kept.
func must(ok bool, rule, format string, args ...any) {
	if !ok {
		fail(rule, format, args...)
	}
}

// catch turns a broken rule into an error of the function that defers it.
func catch(err *error) {
	switch broken := recover().(type) {
	case nil:
	case *ruleError:
		*err = broken
	default:
		panic(broken)
	}
}

// width returns the number of bits that n needs.
func width(n uint64) uint64 { return uint64(bits.Len64(n)) }

// field returns the field of w bits at bit i. The caller knows that w <= 48 and that 8 bytes follow floor(i / 8).
func field(stream []byte, i, w uint64) uint64 { return le.Uint64(stream[i/8:]) >> (i % 8) & (1<<w - 1) }

// wholeBytes returns the number of bytes that a pack of n bits takes.
func wholeBytes(n uint64) uint64 { return n/8 + (n%8+7)/8 }

// mustPad checks that the bits after each pack are zero, and the 8 bytes after the last one. It takes the packs' ends.
func mustPad(rule string, data []byte, ends ...uint64) {
	for _, end := range ends {
		mustEnd(rule, data, end)
	}
	closing := wholeBytes(ends[len(ends)-1])
	must(le.Uint64(data[closing:]) == 0, rule, "closing bytes at byte %d", closing)
}

// mustEnd checks that the bits from the end of a pack to the next whole byte are zero.
func mustEnd(rule string, data []byte, end uint64) {
	must(end%8 == 0 || data[end/8]>>(end%8) == 0, rule, "unused bits at bit %d", end)
}

// decode reads a header that is declared as a struct in the order of its table. The caller knows that data holds it.
func decode(data []byte, header any) { binary.Read(bytes.NewReader(data), le, header) }

// records is an array of packed records: their fields have the given widths, a byte each.
type records struct {
	data   []byte
	start  uint64 // bit of data
	count  uint64
	widths []byte
}

func (r *records) stride() (n uint64) {
	for _, w := range r.widths {
		n += uint64(w)
	}
	return n
}

// end returns the bit after the last record. Nothing wraps: a count has 32 bits, a stride less than 9.
func (r *records) end() uint64 { return r.start + r.count*r.stride() }

// get returns field f of record i.
func (r *records) get(i uint64, f int) uint64 {
	at := r.start + i*r.stride()
	for _, w := range r.widths[:f] {
		at += uint64(w)
	}
	return field(r.data, at, uint64(r.widths[f]))
}

// mustFit checks that each width is at most its limit, and that the length of the section bounds the count.
func (r *records) mustFit(rule string, limits ...byte) {
	for f, limit := range limits {
		must(r.widths[f] <= limit, rule, "field %d of a record has %d bits", f, r.widths[f])
	}
	must(r.count <= 1 || r.stride() > 0, rule, "%d records take no bits", r.count)
}

// mustBeTight checks that each width is that of the largest value of its field.
func (r *records) mustBeTight(rule string) {
	for f, w := range r.widths {
		largest := uint64(0)
		for i := uint64(0); i < r.count; i++ {
			largest = max(largest, r.get(i, f))
		}
		must(width(largest) == uint64(w), rule, "field %d of a record has %d bits for %d", f, w, largest)
	}
}

// mustBeUsed checks that all of something are marked as used.
func mustBeUsed(used []bool, rule, what string) {
	i := slices.Index(used, false)
	must(i < 0, rule, "%s %d is not used", what, i)
}
