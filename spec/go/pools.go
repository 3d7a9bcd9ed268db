package main

// Section 8: list pools and anchors.

import "slices"

// pool is a list pool whose place is checked; its lists are not.
type pool struct {
	number, table, lists, members uint64
	endsBit, endWidth             uint64 // of the ends of the lists
	membersBit                    uint64
	lowWidth                      uint64 // bits of a member's field
	split                         uint64 // 1 if lists are split
	steps                         uint64 // the largest upper part; 0 if lists are plain
}

// maxUpperBits is the largest number of upper bits of a split list.
const maxUpperBits = 65536

// startBit returns the bit after some lists with some members.
func (p *pool) startBit(lists, members uint64) uint64 {
	return p.membersBit + members*(p.lowWidth+p.split) + lists*p.steps
}

func (p *pool) endBit() uint64 { return p.startBit(p.lists, p.members) }

// readPools reads the pools. The dictionaries and inner tables are read.
func (b *block) readPools() bool {
	end, r := uint64(0), &b.poolRecords
	for n := uint64(0); n < b.poolCount; n++ {
		p := pool{number: n, table: r.get(n, poolTable), lists: r.get(n, poolLists), members: r.get(n, poolMembers)}
		offset := r.get(n, poolOffset)
		if !b.must(p.table < b.firstKeyset, "pool-table", "pool %d: table %d", n, p.table) ||
			!b.must(p.lists > 0 && p.lists <= p.members, "pool-lists", "pool %d has %d lists, %d members",
				n, p.lists, p.members) ||
			!b.must(p.members <= p.lists*b.tables[p.table].rows, "list-members", "pool %d has %d members in %d lists",
				n, p.members, p.lists) ||
			!b.must(offset == end, "members-extent", "pool %d starts at %d, not %d", n, offset, end) {
			return false
		}
		p.endsBit, p.endWidth = 8*offset, width(p.members)
		p.membersBit = 8 * wholeBytes(p.endsBit+p.lists*p.endWidth)
		most := b.tables[p.table].rows - 1
		p.lowWidth = r.get(n, poolLow)
		if p.lowWidth != b.rounded(width(most)) {
			if !b.must(p.lowWidth < width(most), "pool-width", "pool %d has members of %d low bits", n, p.lowWidth) {
				return false
			}
			p.split, p.steps = 1, most>>p.lowWidth
			// More lists do not fit into the section, and could take more bits than can be counted.
			room := 8 * uint64(len(b.members)) / p.steps
			if !b.must(p.lists <= room, "members-extent", "pool %d has %d split lists", n, p.lists) {
				return false
			}
		}
		end = wholeBytes(p.endBit())
		if !b.checkMembersEnd(end) {
			return false
		}
		b.pools = append(b.pools, p)
	}
	return true
}

// checkMembersEnd checks that pools or anchors that end at a byte leave room for the closing bytes.
func (b *block) checkMembersEnd(end uint64) bool {
	return b.must(end+closingLen <= uint64(len(b.members)), "members-extent", "%d bytes, a pool or anchors end at %d",
		len(b.members), end)
}

// list returns the places of list l in the pool. If the rule is broken, it returns a list of one member.
func (b *block) list(p *pool, l uint64) (from, to uint64) {
	if l > 0 {
		from = field(b.members, p.endsBit+(l-1)*p.endWidth, p.endWidth)
	}
	to = field(b.members, p.endsBit+l*p.endWidth, p.endWidth)
	if from >= to || to > p.members {
		b.must(false, "pool-lists", "pool %d: list %d is [%d, %d) of %d members", p.number, l, from, to, p.members)
		return 0, 1
	}
	return from, to
}

// listMembers sets members to those of list l, which are rows of the pool's table. They are 0 if a rule is broken.
func (b *block) listMembers(p *pool, l uint64, members []uint64) []uint64 {
	members = members[:0]
	from, to := b.list(p, l)
	n, at := to-from, p.startBit(l, from)
	for i := uint64(0); i < n; i++ {
		members = append(members, field(b.members, at+i*p.lowWidth, p.lowWidth))
	}
	if p.split == 1 {
		b.addUpperBits(p, l, at+n*p.lowWidth, members)
	}
	for i, row := range members {
		if row >= b.tables[p.table].rows {
			b.must(false, "list-members", "pool %d: member %d of list %d is row %d", p.number, i, l, row)
			members[i] = 0
		}
	}
	return members
}

// addUpperBits adds the upper bits, which begin at a bit, to the low bits of the members of a split list.
func (b *block) addUpperBits(p *pool, l, at uint64, members []uint64) {
	n := uint64(len(members))
	length := n + p.steps
	if !b.must(length <= maxUpperBits, "list-upper", "pool %d: list %d has %d upper bits", p.number, l, length) {
		return
	}
	ones := uint64(0)
	for bit := uint64(0); bit < length; bit++ {
		if field(b.members, at+bit, 1) == 0 {
			continue
		}
		if ones < n {
			members[ones] |= (bit - ones) << p.lowWidth
		}
		ones++
	}
	b.must(ones == n, "list-upper", "pool %d: list %d has %d ones for %d members", p.number, l, ones, n)
}

// checkPools checks the rules of class R on lists.
func (b *block) checkPools() {
	for n := range b.pools {
		p := &b.pools[n]
		end := uint64(0)
		var members []uint64
		for l := uint64(0); l < p.lists && b.err == nil; l++ {
			_, end = b.list(p, l)
			members = b.listMembers(p, l, members)
			for i := 1; i < len(members) && b.err == nil; i++ {
				if members[i-1] >= members[i] {
					b.must(false, "list-members", "pool %d: list %d does not increase", n, l)
				}
			}
		}
		b.must(end == p.members, "pool-lists", "lists of pool %d end at %d of %d members", n, end, p.members)
	}
}

// checkPoolForm checks the rules of class C on pools and the members section but list-used.
func (b *block) checkPoolForm() {
	padding := func(bit uint64) { b.must(zeroAfter(b.members, bit), "members-padding", "at bit %d", bit) }
	for n := range b.pools {
		p := &b.pools[n]
		b.must(n == 0 || b.pools[n-1].table < p.table, "pool-order", "pool %d of table %d", n, p.table)
		padding(p.endsBit + p.lists*p.endWidth)
		padding(p.endBit())
		var before, members []uint64
		for l := uint64(0); l < p.lists; l++ {
			members = b.listMembers(p, l, members)
			if slices.Compare(before, members) >= 0 {
				b.must(false, "list-order", "pool %d: list %d is not after the one before", n, l)
			}
			before, members = members, before
		}
	}
	for s := range b.keysets {
		padding(b.keysets[s].anchorsEnd())
	}
	closing := b.members[len(b.members)-min(len(b.members), closingLen):]
	b.must(allZero(closing), "members-padding", "the closing bytes are not zero")
}
