package main

// Section 8: list pools.

import "slices"

// pool is a list pool whose place is checked.
type pool struct {
	number, domain    uint64 // its number, and what a shape calls it
	table             *table
	lists, members    uint64
	endsStart         uint64 // bit of the ends of the lists
	endWidth          uint64
	listsStart        uint64 // bit of the lists
	lowWidth          uint64 // l
	steps, upperWidth uint64 // s, and upper bits of a member beside them: 0 if s is 0, else 1
}

// startBit returns the bit after some lists with some members. Nothing wraps: steps are less than 2^16.
func (p *pool) startBit(lists, members uint64) uint64 {
	return p.listsStart + members*(p.lowWidth+p.upperWidth) + lists*p.steps
}

func (p *pool) endsEnd() uint64 { return p.endsStart + p.lists*p.endWidth }
func (p *pool) end() uint64     { return p.startBit(p.lists, p.members) }

// readPools reads the pools. The dictionaries and inner tables are read.
func (b *block) readPools() {
	end, r := uint64(0), &b.poolRecords
	for n := uint64(0); n < r.count; n++ {
		p := &pool{number: n, domain: 1 + b.tableCount + n, lists: r.get(n, poolLists), members: r.get(n, poolMembers),
			lowWidth: r.get(n, poolLow), endsStart: 8 * r.get(n, poolOffset)}
		t := r.get(n, poolTable)
		must(t < b.firstKeyset, "pool-table", "pool %d: table %d", n, t)
		p.table = b.tables[t]
		must(p.lists > 0 && p.lists <= p.members, "pool-lists", "pool %d has %d lists, %d members", n, p.lists, p.members)
		must(p.members <= p.lists*p.table.rows, "list-members", "pool %d has %d members", n, p.members)
		must(p.lowWidth <= 32, "list-upper", "pool %d has members of %d low bits", n, p.lowWidth)
		if p.steps = (p.table.rows - 1) >> p.lowWidth; p.steps > 0 {
			p.upperWidth = 1
		}
		must(p.steps < maxUpperBits, "list-upper", "lists of pool %d have more than %d upper bits", n, p.steps)
		must(p.endsStart == 8*end, "members-extent", "pool %d starts at byte %d, not %d", n, p.endsStart/8, end)
		p.endWidth = width(p.members)
		p.listsStart = 8 * wholeBytes(p.endsEnd())
		end = wholeBytes(p.end()) // offsets have 48 bits, so this does not wrap
		b.pools = append(b.pools, p)
	}
}

// list returns the places of list l in the pool.
func (b *block) list(p *pool, l uint64) (from, to uint64) {
	if l > 0 {
		from = field(b.members, p.endsStart+(l-1)*p.endWidth, p.endWidth)
	}
	to = field(b.members, p.endsStart+l*p.endWidth, p.endWidth)
	must(from < to && to <= p.members, "pool-lists", "pool %d: list %d is [%d, %d)", p.number, l, from, to)
	return from, to
}

// listMembers sets members to those of list l, which increase and are rows of the pool's table.
func (b *block) listMembers(p *pool, l uint64, members []uint64) []uint64 {
	members = members[:0]
	from, to := b.list(p, l)
	n, at := to-from, p.startBit(l, from)
	for i := uint64(0); i < n; i++ {
		members = append(members, field(b.members, at, p.lowWidth))
		at += p.lowWidth
	}
	if p.steps > 0 {
		b.addUpperBits(p, l, at, members)
	}
	for i, m := range members {
		must(m < p.table.rows && (i == 0 || members[i-1] < m), "list-members", "pool %d: list %d", p.number, l)
	}
	return members
}

// addUpperBits adds the upper bits, which begin at a bit, to the low bits of the members of a list.
func (b *block) addUpperBits(p *pool, l, at uint64, members []uint64) {
	n, ones := uint64(len(members)), uint64(0)
	length := n + p.steps
	must(length <= maxUpperBits, "list-upper", "pool %d: list %d has %d upper bits", p.number, l, length)
	for bit := uint64(0); bit < length; bit++ {
		if field(b.members, at+bit, 1) == 1 {
			if ones < n {
				members[ones] |= (bit - ones) << p.lowWidth
			}
			ones++
		}
	}
	must(ones == n, "list-upper", "pool %d: list %d has %d ones for %d members", p.number, l, ones, n)
}

// checkLists checks the rules of class R on lists.
func (b *block) checkLists() {
	for _, p := range b.pools {
		var members []uint64
		for l := uint64(0); l < p.lists; l++ {
			members = b.listMembers(p, l, members)
		}
		_, end := b.list(p, p.lists-1)
		must(end == p.members, "pool-lists", "lists of pool %d end at %d of %d members", p.number, end, p.members)
	}
}

// checkListForm checks the rules of class C on pools, lists and the members section but list-used.
func (b *block) checkListForm() {
	ends := []uint64{0}
	for n, p := range b.pools {
		ends = append(ends, p.endsEnd(), p.end())
		must(n == 0 || b.pools[n-1].table.number < p.table.number, "pool-order", "pool %d of table %d", n, p.table.number)
		w := b.formWidth(p.table.rows - 1)
		must(p.steps > 0 || p.lowWidth == w, "column-width", "pool %d has %d low bits, not %d", n, p.lowWidth, w)
		var before, members []uint64
		for l := uint64(0); l < p.lists; l++ {
			members = b.listMembers(p, l, members)
			must(slices.Compare(before, members) < 0, "list-order", "pool %d: list %d", n, l)
			before, members = members, before
		}
	}
	for _, k := range b.keysets {
		if k.list != nil {
			ends = append(ends, k.anchorsEnd())
		}
	}
	if len(b.pools) > 0 {
		mustPad("members-padding", b.members, ends...)
	}
}
