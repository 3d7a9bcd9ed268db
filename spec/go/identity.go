package main

// Section 11: identity.

import (
	"encoding/binary"
	"math/bits"
)

// sip returns SIP(key, data), which is SipHash-2-4, for the parts of data one after the other.
func sip(key string, parts ...[]byte) uint64 {
	k0, k1 := le.Uint64([]byte(key[:8])), le.Uint64([]byte(key[8:16]))
	v0, v1 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d
	v2, v3 := k0^0x6c7967656e657261, k1^0x7465646279746573
	rounds := func(n int) {
		for ; n > 0; n-- {
			v0, v2 = v0+v1, v2+v3
			v1, v3 = bits.RotateLeft64(v1, 13)^v0, bits.RotateLeft64(v3, 16)^v2
			v0 = bits.RotateLeft64(v0, 32)
			v2, v0 = v2+v1, v0+v3
			v1, v3 = bits.RotateLeft64(v1, 17)^v2, bits.RotateLeft64(v3, 21)^v0
			v2 = bits.RotateLeft64(v2, 32)
		}
	}
	word := func(m uint64) {
		v3 ^= m
		rounds(2)
		v0 ^= m
	}
	length, rest := uint64(0), make([]byte, 0, 8)
	for _, part := range parts {
		length += uint64(len(part))
		if len(rest) > 0 {
			n := min(8-len(rest), len(part))
			rest, part = append(rest, part[:n]...), part[n:]
			if len(rest) < 8 {
				continue
			}
			word(le.Uint64(rest))
			rest = rest[:0]
		}
		for ; len(part) >= 8; part = part[8:] {
			word(le.Uint64(part))
		}
		rest = append(rest, part...)
	}
	last := length << 56
	for i, b := range rest {
		last |= uint64(b) << (8 * i)
	}
	word(last)
	v2 ^= 0xff
	rounds(4)
	return v0 ^ v1 ^ v2 ^ v3
}

// prime is P. addMod and mulMod take and return numbers below it.
const prime = 1<<61 - 1

func addMod(a, b uint64) uint64 { return reduce(a + b) }

func mulMod(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return reduce(low&prime + (low>>61 | high<<3))
}

func reduce(n uint64) uint64 {
	if n >= prime {
		return n - prime
	}
	return n
}

// fingerprint computes the fingerprint table by table. Rows and lists are right: a table has no row twice, so that the
// length of its rows bounds their number.
func (b *block) fingerprint() (fingerprint [2]uint64) {
	if b.err != nil {
		return fingerprint
	}
	hashes := make([]uint64, b.symbolCount)
	for i := range hashes {
		hashes[i] = sip("chronoxide.sym.0", b.symbol(uint64(i)))
	}
	pair := make([]byte, 16)
	for j, key := range []string{"chronoxide.fpr.1", "chronoxide.fpr.2"} {
		// By number of the domain: the product of each row, and the sum of the products of each list's members.
		values := make([][]uint64, 1+b.tableCount+b.poolCount)
		product := func(t *table, r uint64) uint64 {
			n := uint64(1)
			for c := range t.columns {
				n = mulMod(n, values[t.columns[c].domain][b.code(t, r, c)])
			}
			return n
		}
		for n := range b.tables[:b.firstKeyset] {
			t := &b.tables[n]
			values[1+n] = make([]uint64, t.rows)
			for r := range values[1+n] {
				if t.kind != dictionaryTable {
					values[1+n][r] = product(t, uint64(r))
					continue
				}
				le.PutUint64(pair, hashes[b.keyRecords.get(t.number, keyName)])
				le.PutUint64(pair[8:], hashes[b.code(t, uint64(r), 0)])
				values[1+n][r] = 1 + sip(key, pair)%(prime-1)
			}
		}
		for n := range b.pools {
			p := &b.pools[n]
			sums := make([]uint64, p.lists)
			var members []uint64
			for l := range sums {
				members = b.listMembers(p, uint64(l), members)
				for _, member := range members {
					sums[l] = addMod(sums[l], values[1+p.table][member])
				}
			}
			values[1+b.tableCount+p.number] = sums
		}
		for _, k := range b.keysets {
			for r := uint64(0); r < k.table.rows; r++ {
				fingerprint[j] = addMod(fingerprint[j], product(k.table, r))
			}
		}
	}
	return fingerprint
}

// blockID computes the block id.
func (b *block) blockID() (id [16]byte) {
	material := [][]byte{b.file[8:24], b.metaData, b.catalogueData}
	for _, s := range b.sections {
		if s.Kind >= firstOptional {
			entry := le.AppendUint32(le.AppendUint32(nil, s.Kind), s.ID)
			entry = le.AppendUint64(entry, s.Length)
			material = append(material, le.AppendUint64(entry, sip("chronoxide.sec.0", b.sectionData(s))))
		}
	}
	if b.timeKnown() && b.Time[0] > 0 {
		binary.BigEndian.PutUint64(id[:], uint64(b.Time[0])/1000000<<16)
	}
	binary.BigEndian.PutUint64(id[6:], sip("chronoxide.bid.1", material...))
	binary.BigEndian.PutUint16(id[14:], uint16(sip("chronoxide.bid.2", material...)>>48))
	return id
}

// idText returns a block id as text: the last character is the last 5 bits, the first one the first 3.
func idText(id []byte) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	high, low := binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[8:])
	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[low&31]
		low, high = low>>5|high<<59, high>>5
	}
	return string(text[:])
}
