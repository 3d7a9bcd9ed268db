package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"container/heap"
	"context"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Label is a label of a series.
type Label struct {
	Name, Value string
}

// Compare orders labels by name, then by value.
func (l Label) Compare(other Label) int {
	if order := strings.Compare(l.Name, other.Name); order != 0 {
		return order
	}
	return strings.Compare(l.Value, other.Value)
}

// Ref is a series of a block: an engine finds its samples by it.
type Ref struct {
	// Block is the position of the block in the set.
	Block int
	// Series is the ref of the series in the block.
	Series uint32
}

// Series is a series, and the blocks that have it.
type Series struct {
	Labels []Label
	Refs   []Ref
}

// SeriesSet walks over selected series in the order of their labels. Close releases it before its end.
type SeriesSet struct {
	ctx      context.Context
	cursors  cursors
	current  Series
	warnings []error
	err      error
}

// cursor walks over the selected series of one block.
type cursor struct {
	handle  *C.cx_cursor
	block   int
	labels  []Label
	series  uint32
	failure C.cx_error
}

// newSeriesSet begins to walk over a selection. It keeps cursors only.
func newSeriesSet(ctx context.Context, selection *C.cx_set_selection) *SeriesSet {
	set := &SeriesSet{ctx: ctx, warnings: failures(C.cx_set_selection_failures(selection))}
	for part := C.size_t(0); part < C.cx_set_selection_part_count(selection); part++ {
		var block C.size_t
		selected := C.cx_set_selection_part(selection, part, &block)
		next := &cursor{block: int(block)}
		status := C.cx_selection_cursor(selected, C.CX_ORDER_LABELS, nil, &next.handle, &next.failure)
		if set.err = check(status, &next.failure); set.err != nil {
			return set
		}
		// For callers that neither reach the end nor close the set.
		runtime.SetFinalizer(next, (*cursor).close)
		set.advance(next)
	}
	heap.Init(&set.cursors)
	return set
}

// advance steps a cursor, and keeps it if it has a series. A block that turns out to be damaged gives a warning.
func (s *SeriesSet) advance(next *cursor) {
	hasNext, err := next.next()
	if err != nil {
		s.warnings = append(s.warnings, err)
	}
	if hasNext {
		heap.Push(&s.cursors, next)
	} else {
		next.close()
	}
}

// Next steps to the next series. It returns false after the last, and after an error.
func (s *SeriesSet) Next() bool {
	if s.err == nil && s.ctx.Err() != nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil || len(s.cursors) == 0 {
		s.Close()
		return false
	}
	s.current = Series{Labels: s.cursors[0].labels}
	for len(s.cursors) > 0 && slices.Equal(s.cursors[0].labels, s.current.Labels) {
		next := heap.Pop(&s.cursors).(*cursor)
		s.current.Refs = append(s.current.Refs, Ref{Block: next.block, Series: next.series})
		s.advance(next)
	}
	return true
}

// At returns the current series, which the caller may keep.
func (s *SeriesSet) At() Series { return s.current }

// Err returns the error that ended the walk.
func (s *SeriesSet) Err() error { return s.err }

// Warnings returns the errors of damaged blocks, whose series are missing. More may come until the walk ends.
func (s *SeriesSet) Warnings() []error { return s.warnings }

// Close releases the cursors.
func (s *SeriesSet) Close() {
	for _, open := range s.cursors {
		open.close()
	}
	s.cursors = nil
}

// next steps to the next series of the block, and copies its labels. It returns false at the end, and after an error.
func (c *cursor) next() (bool, error) {
	var series C.uint32_t
	var labels *C.cx_label
	var count C.size_t
	status := C.cx_cursor_next(c.handle, &series, &labels, &count, &c.failure)
	if err := check(status, &c.failure); err != nil || series == C.CX_NO_SERIES {
		return false, err
	}
	c.series = uint32(series)
	c.labels = make([]Label, count)
	for i, label := range unsafe.Slice(labels, count) {
		c.labels[i] = Label{
			Name:  C.GoStringN(label.name, C.int(label.name_len)),
			Value: C.GoStringN(label.value, C.int(label.value_len)),
		}
	}
	return true, nil
}

func (c *cursor) close() {
	C.cx_cursor_free(c.handle)
	c.handle = nil
	runtime.SetFinalizer(c, nil)
}

// cursors is a heap: the cursor with the first labels, of the first block, comes first.
type cursors []*cursor

func (c cursors) Len() int      { return len(c) }
func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c cursors) Less(i, j int) bool {
	order := slices.CompareFunc(c[i].labels, c[j].labels, Label.Compare)
	return order < 0 || order == 0 && c[i].block < c[j].block
}
func (c *cursors) Push(next any) { *c = append(*c, next.(*cursor)) }
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
