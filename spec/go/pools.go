package main

// Section 8: list pools and anchors.

import "slices"

// pool is a list pool whose place is checked; its lists are not.
type pool struct {
	number, table, lists, members uint64
	endsBit, endWidth             uint64 // of the ends of the lists
	membersBit, memberWidth       uint64
}

func (p *pool) endBit() uint64 { return p.membersBit + p.members*p.memberWidth }

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
		p.memberWidth = b.rounded(width(b.tables[p.table].rows - 1))
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

// member returns the member at place i of the pool, a row of its table. It is 0 if the rule is broken.
func (b *block) member(p *pool, i uint64) uint64 {
	row := field(b.members, p.membersBit+i*p.memberWidth, p.memberWidth)
	if row >= b.tables[p.table].rows {
		b.must(false, "list-members", "pool %d: member %d is row %d", p.number, i, row)
		return 0
	}
	return row
}

// listMembers sets members to those of list l.
func (b *block) listMembers(p *pool, l uint64, members []uint64) []uint64 {
	members = members[:0]
	from, to := b.list(p, l)
	for i := from; i < to; i++ {
		members = append(members, b.member(p, i))
	}
	return members
}

// checkPools checks the rules of class R on lists.
func (b *block) checkPools() {
	for n := range b.pools {
		p := &b.pools[n]
		end := uint64(0)
		for l := uint64(0); l < p.lists && b.err == nil; l++ {
			var from uint64
			from, end = b.list(p, l)
			for i := from + 1; i < end && b.err == nil; i++ {
				if b.member(p, i-1) >= b.member(p, i) {
					b.must(false, "list-members", "pool %d: list %d does not increase", n, l)
				}
			}
			b.member(p, from)
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
