package main

// Section 1: bit streams and packs.

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

var le = binary.LittleEndian

// width returns the number of bits that n needs.
func width(n uint64) uint64 { return uint64(bits.Len64(n)) }

// field returns the field of w bits at bit i. The caller knows that w <= 48 and that 8 bytes follow floor(i / 8).
func field(stream []byte, i, w uint64) uint64 { return le.Uint64(stream[i/8:]) >> (i % 8) & (1<<w - 1) }

// wholeBytes returns the number of bytes that a pack of n bits takes.
func wholeBytes(n uint64) uint64 { return n/8 + (n%8+7)/8 }

// zeroAfter tells whether the bits from bit i up to the next whole byte are zero.
func zeroAfter(stream []byte, i uint64) bool { return i%8 == 0 || stream[i/8]>>(i%8) == 0 }

func allZero(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// decode reads a header that is declared as a struct in the order of its table. The caller knows that data holds it.
func decode(data []byte, header any) { binary.Read(bytes.NewReader(data), le, header) }

// records is an array of packed records: their fields have the given widths, a byte each.
type records struct {
	data   []byte
	start  uint64 // byte of data
	count  uint64
	widths []byte
}

func (r *records) stride() (n uint64) {
	for _, w := range r.widths {
		n += uint64(w)
	}
	return n
}

// endBit returns the bit after the last record. Nothing wraps: a count has 32 bits, a stride less than 8.
func (r *records) endBit() uint64 { return 8*r.start + r.count*r.stride() }
func (r *records) end() uint64    { return wholeBytes(r.endBit()) }

// bounded tells whether the length of the section bounds the count.
func (r *records) bounded() bool { return r.count <= 1 || r.stride() > 0 }

// get returns field f of record i.
func (r *records) get(i uint64, f int) uint64 {
	at := 8*r.start + i*r.stride()
	for _, w := range r.widths[:f] {
		at += uint64(w)
	}
	return field(r.data, at, uint64(r.widths[f]))
}

// tight tells whether each width is that of the largest value of its field.
func (r *records) tight() bool {
	for f, w := range r.widths {
		largest := uint64(0)
		for i := uint64(0); i < r.count; i++ {
			largest = max(largest, r.get(i, f))
		}
		if width(largest) != uint64(w) {
			return false
		}
	}
	return true
}

// within tells whether each width is at most its limit.
func within(widths []byte, limits ...byte) bool {
	for f, limit := range limits {
		if widths[f] > limit {
			return false
		}
	}
	return true
}

// bitset is a set of the numbers below a bound.
type bitset []uint64

func newBitset(bound uint64) bitset { return make(bitset, bound/64+1) }
func (s bitset) add(i uint64)       { s[i/64] |= 1 << (i % 64) }

// missing returns the first number below n that the set has not, or n.
func (s bitset) missing(n uint64) uint64 {
	for i := uint64(0); i < n; i++ {
		if s[i/64]>>(i%64)&1 == 0 {
			return i
		}
	}
	return n
}
