package main

// Section 11: identity.

import (
	"encoding/binary"
	"math/bits"
)

// sip returns SIP(key, data), which is SipHash-2-4.
func sip(key string, data []byte) uint64 {
	k0, k1 := le.Uint64([]byte(key)), le.Uint64([]byte(key[8:]))
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
	last := uint64(len(data)) << 56
	for ; len(data) >= 8; data = data[8:] {
		word(le.Uint64(data))
	}
	for i, b := range data {
		last |= uint64(b) << (8 * i)
	}
	word(last)
	v2 ^= 0xff
	rounds(4)
	return v0 ^ v1 ^ v2 ^ v3
}

// prime is P. mulMod takes and returns numbers below it.
const prime = 1<<61 - 1

func mulMod(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return (low&prime + (low>>61 | high<<3)) % prime
}

// fingerprint computes the fingerprint. Rows are in order, so the length of the rows section bounds their number.
func (b *block) fingerprint() [2]uint64 {
	return [2]uint64{b.residue("chronoxide.fpr.1"), b.residue("chronoxide.fpr.2")}
}

// residue computes one of the numbers of the fingerprint, table by table.
func (b *block) residue(key string) (sum uint64) {
	// By number of the domain: the product of each row, and the sum of the products of each list's members.
	values := make([][]uint64, 1+b.tableCount+uint64(len(b.pools)))
	product := func(t *table, r uint64) uint64 {
		n := uint64(1)
		for c := range t.columns {
			n = mulMod(n, values[t.columns[c].domain][b.code(t, r, c)])
		}
		return n
	}
	for _, t := range b.tables[:b.firstKeyset] {
		v := make([]uint64, t.rows)
		for r := range v {
			if t.kind == dictionaryTable {
				name, value := b.keyName(t.number), b.symbol(b.code(t, uint64(r), 0))
				data := append(le.AppendUint64(nil, uint64(len(name))), name...)
				v[r] = 1 + sip(key, append(data, value...))%(prime-1)
			} else {
				v[r] = product(t, uint64(r))
			}
		}
		values[1+t.number] = v
	}
	var members []uint64
	for _, p := range b.pools {
		v := make([]uint64, p.lists)
		for l := range v {
			members = b.listMembers(p, uint64(l), members)
			for _, member := range members {
				v[l] = (v[l] + values[1+p.table.number][member]) % prime
			}
		}
		values[p.domain] = v
	}
	for _, k := range b.keysets {
		for r := uint64(0); r < k.rows; r++ {
			sum = (sum + product(k.table, r)) % prime
		}
	}
	return sum
}

// blockID computes the block id.
func (b *block) blockID() (id [16]byte) {
	material := append([]byte{}, b.file[8:24]...)
	for _, s := range b.sections {
		material = le.AppendUint32(le.AppendUint32(material, s.Kind), s.ID)
		material = le.AppendUint64(material, s.Length)
		material = le.AppendUint64(material, sip("chronoxide.sec.0", b.file[s.Offset:s.Offset+s.Length]))
	}
	if start := b.Spans[0][0]; b.spanKnown(0) && start > 0 {
		binary.BigEndian.PutUint64(id[:], uint64(start)/1000000<<16)
	}
	binary.BigEndian.PutUint64(id[6:], sip("chronoxide.bid.1", material))
	binary.BigEndian.PutUint16(id[14:], uint16(sip("chronoxide.bid.2", material)>>48))
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
