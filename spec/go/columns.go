package main

// COLUMNS.md: series columns.

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

const (
	columnHeaderLen  = 16
	numbersHeaderLen = 20
	maxColumnNameLen = 255
	maxValueLen      = 65535
	valueGroup       = 256
)

// Types of values.
const typeI64, typeU64, typeBytes = 1, 2, 3

var valueTypes = []string{typeI64: "i64", typeU64: "u64", typeBytes: "bytes"}

// merges are the ways to merge, with the first and the last type that each allows.
var merges = []struct {
	word        string
	first, last byte
}{{"drop", typeI64, typeBytes}, {"same", typeI64, typeBytes}, {"min", typeI64, typeBytes}, {"max", typeI64, typeBytes},
	{"sum", typeI64, typeU64}, {"or", typeU64, typeU64}, {"newest", typeI64, typeBytes}}

// numberArray is a number array.
type numberArray struct {
	data              []byte // the section
	count             uint64
	records           records
	groups, groupsLen uint64 // byte of data, and bytes
}

// Fields of a GROUP record.
const groupBaseLow, groupBaseHigh, groupCommon, groupWidth, groupExceptions, groupExceptionWidth, groupHasAbsent,
	groupStart = 0, 1, 2, 3, 4, 5, 6, 7

// readNumbers reads the array that starts at a byte of the section of a column, and checks all but its values. It must
// have one of the counts from least to most.
func readNumbers(data []byte, at, least, most uint64, rule string) *numberArray {
	must(uint64(len(data)) >= at+numbersHeaderLen, "value-header", "%d bytes do not hold an array", len(data))
	n := &numberArray{data: data, count: uint64(le.Uint32(data[at:])), groupsLen: le.Uint64(data[at+12:])}
	n.records = records{data, 8 * (at + numbersHeaderLen), (n.count + valueGroup - 1) / valueGroup, data[at+4 : at+12]}
	for f, limit := range []byte{32, 32, 48, 7, 8, 7, 1, 48} {
		must(n.records.widths[f] <= limit, "value-header", "field %d of a group has %d bits", f, n.records.widths[f])
	}
	n.groups = wholeBytes(n.records.end())
	left := uint64(len(data)) - min(n.groups+closingLen, uint64(len(data)))
	must(n.groups+closingLen <= uint64(len(data)) && n.groupsLen <= left, "value-length", "%d bytes of groups", n.groupsLen)
	must(n.count >= least && n.count <= most, rule, "%d numbers", n.count)
	start := uint64(0)
	for g := uint64(0); g < n.records.count; g++ {
		w, e, ew, rows := n.fields(g)
		must(max(w, ew) <= 64 && e <= rows, "value-groups", "group %d has %d exceptions of %d bits", g, e, ew)
		must(n.records.get(g, groupStart) == start, "value-groups", "group %d does not start at %d", g, start)
		start += e + wholeBytes(e*ew+rows*w)
		must(start <= n.groupsLen, "value-groups", "group %d ends at %d", g, start)
		for i := uint64(0); i < e; i++ {
			row := n.exception(g, i)
			must(row < rows && (i == 0 || n.exception(g, i-1) < row), "value-groups", "exception %d of group %d", i, g)
		}
	}
	must(start == n.groupsLen, "value-groups", "%d bytes of groups, should be %d", n.groupsLen, start)
	return n
}

// fields returns width, exceptions, width of exceptions, and rows of a group.
func (n *numberArray) fields(g uint64) (w, e, ew, rows uint64) {
	return n.records.get(g, groupWidth), n.records.get(g, groupExceptions), n.records.get(g, groupExceptionWidth),
		min(valueGroup, n.count-g*valueGroup)
}

// end returns the byte behind the array.
func (n *numberArray) end() uint64 { return n.groups + n.groupsLen + closingLen }

// exception returns the row of an exception.
func (n *numberArray) exception(g, i uint64) uint64 {
	return uint64(n.data[n.groups+n.records.get(g, groupStart)+i])
}

// wide returns a field of up to 64 bits.
func (n *numberArray) wide(i, w uint64) uint64 {
	if w <= 48 {
		return field(n.data, i, w)
	}
	return field(n.data, i, 32) | field(n.data, i+32, w-32)<<32
}

// rowsAt returns the bit at which the fields of rows start.
func (n *numberArray) rowsAt(g uint64) uint64 {
	_, e, ew, _ := n.fields(g)
	return 8*(n.groups+n.records.get(g, groupStart)+e) + e*ew
}

// get returns number i, and false if it is absent.
func (n *numberArray) get(i uint64) (uint64, bool) {
	g, row := i/valueGroup, i%valueGroup
	w, e, ew, _ := n.fields(g)
	common := n.records.get(g, groupCommon)
	code, carry := bits.Add64(common, n.wide(n.rowsAt(g)+row*w, w), 0)
	for x := uint64(0); x < e; x++ {
		if n.exception(g, x) == row {
			code, carry = n.wide(8*(n.groups+n.records.get(g, groupStart)+e)+x*ew, ew), 0
		}
	}
	must(carry == 0, "value-range", "number %d has a code of more than 64 bits", i)
	base := n.records.get(g, groupBaseLow) | n.records.get(g, groupBaseHigh)<<32
	if n.records.get(g, groupHasAbsent) == 1 {
		return base + code - 1, code > 0
	}
	return base + code, true
}

// checkForm checks the rules of class C.
func (n *numberArray) checkForm() {
	n.records.mustBeTight("value-widths")
	mustEnd("value-padding", n.data, n.records.end())
	must(le.Uint64(n.data[n.end()-closingLen:]) == 0, "value-padding", "closing bytes before byte %d", n.end())
	for g := uint64(0); g < n.records.count; g++ {
		w, e, _, rows := n.fields(g)
		at := n.rowsAt(g)
		for i := uint64(0); i < e; i++ {
			must(n.wide(at+n.exception(g, i)*w, w) == 0, "value-padding", "exception %d of group %d has a field", i, g)
		}
		mustEnd("value-padding", n.data, at+rows*w)
	}
}

// seriesColumn is a series column.
type seriesColumn struct {
	data             []byte
	name             []byte
	valueType, merge byte
	unit             uint64
	values           *numberArray
	starts           *numberArray // nil unless the type is bytes
	texts            []byte
}

// readColumns reads the sections. It checks the rules of class R.
func (b *block) readColumns() {
	for _, s := range b.sections {
		if s.Kind != kindColumn {
			continue
		}
		must(uint64(s.ID) == uint64(len(b.columns)), "value-name", "column %d has id %d", len(b.columns), s.ID)
		c := readColumn(b.file[s.Offset:s.Offset+s.Length], b.SeriesCount)
		if len(b.columns) > 0 {
			before := b.columns[len(b.columns)-1].name
			must(bytes.Compare(before, c.name) < 0, "value-name", "%q stands after %q", c.name, before)
		}
		b.columns = append(b.columns, c)
	}
}

func readColumn(data []byte, series uint64) *seriesColumn {
	must(len(data) >= columnHeaderLen, "value-header", "%d bytes do not hold it", len(data))
	c := &seriesColumn{data: data, valueType: data[0], merge: data[1], unit: le.Uint64(data[8:])}
	at := columnHeaderLen + uint64(le.Uint16(data[2:]))
	must(uint64(len(data)) >= at, "value-header", "%d bytes do not hold the name", len(data))
	c.name = data[columnHeaderLen:at]
	must(utf8.Valid(c.name) && len(c.name) >= 1 && len(c.name) <= maxColumnNameLen, "value-name", "name %q", c.name)
	must(c.valueType >= typeI64 && c.valueType <= typeBytes && int(c.merge) < len(merges), "value-header",
		"type %d, merge %d", c.valueType, c.merge)
	way := merges[c.merge]
	must(way.first <= c.valueType && c.valueType <= way.last, "value-header", "%s of type %d", way.word, c.valueType)
	most := []uint64{typeI64: math.MaxInt64, typeU64: math.MaxUint64, typeBytes: 1}[c.valueType]
	must(c.unit >= 1 && c.unit <= most, "value-header", "unit %d", c.unit)
	c.values = readNumbers(data, at, series, series, "value-count")
	if c.valueType == typeBytes {
		c.starts = readNumbers(data, c.values.end(), 1, series+1, "value-texts")
		c.texts = data[c.starts.end():]
		end := uint64(0)
		for i := uint64(0); i < c.starts.count; i++ {
			start, ok := c.starts.get(i)
			must(ok && start >= end && start-end <= maxValueLen && (i > 0 || start == 0), "value-texts",
				"text %d starts at %d, after %d", i, start, end)
			end = start
		}
		must(end == uint64(len(c.texts)), "value-texts", "%d bytes of texts, should be %d", len(c.texts), end)
	} else {
		must(c.values.end() == uint64(len(data)), "value-length", "%d bytes, should be %d", len(data), c.values.end())
	}
	for i := uint64(0); i < series; i++ {
		c.value(i)
	}
	return c
}

// text returns text i.
func (c *seriesColumn) text(i uint64) []byte {
	start, _ := c.starts.get(i)
	end, _ := c.starts.get(i + 1)
	return c.texts[start:end]
}

// value returns the value of a series as the dump shows it.
func (c *seriesColumn) value(series uint64) string {
	n, ok := c.values.get(series)
	if !ok {
		return "-"
	}
	switch c.valueType {
	case typeBytes:
		must(n < c.starts.count-1, "value-range", "series %d has text %d of %d", series, n, c.starts.count-1)
		return fmt.Sprintf("0x%x", c.text(n))
	case typeU64:
		high, low := bits.Mul64(n, c.unit)
		must(high == 0, "value-range", "series %d has %d units", series, n)
		return fmt.Sprint(low)
	}
	units := int64(n)
	value := units * int64(c.unit)
	must(value/int64(c.unit) == units, "value-range", "series %d has %d units", series, units)
	return fmt.Sprint(value)
}

// checkColumnForm checks the rules of class C.
func (b *block) checkColumnForm() {
	for _, c := range b.columns {
		must(le.Uint32(c.data[4:]) == 0, "value-padding", "reserved is not zero")
		c.values.checkForm()
		if c.starts == nil {
			continue
		}
		c.starts.checkForm()
		used := uint64(0)
		for i := uint64(0); i < b.SeriesCount; i++ {
			n, ok := c.values.get(i)
			if !ok || n+1 == used {
				continue
			}
			fresh := used == 0 || n < c.starts.count-1 && !bytes.Equal(c.text(n), c.text(used-1))
			must(n == used && fresh, "value-texts-used", "series %d has text %d after %d texts", i, n, used)
			used++
		}
		must(used == c.starts.count-1, "value-texts-used", "%d of %d texts are used", used, c.starts.count-1)
	}
}
