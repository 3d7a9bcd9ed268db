package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"runtime"
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

// SeriesID is a series of a block: an engine finds its samples by it. It is the same in every snapshot that has the
// block.
type SeriesID struct {
	// Block is the id of the block, as it stands in its header.
	Block [16]byte
	// Series is the position of the series in the block.
	Series uint32
}

// Series is a series, and its ids, one per block that has it.
type Series struct {
	Labels []Label
	IDs    []SeriesID
}

// SeriesSet walks over selected series in the order of their labels. Close releases it before its end.
type SeriesSet struct {
	ctx      context.Context
	rows     *C.cx_rows
	current  Series
	warnings []error
	err      error
	series   C.cx_series
	failure  C.cx_error
}

func newSeriesSet(ctx context.Context, rows *C.cx_rows, warnings []error, err error) *SeriesSet {
	set := &SeriesSet{ctx: ctx, rows: rows, warnings: warnings, err: err}
	// For callers that neither reach the end nor close the set.
	runtime.SetFinalizer(set, (*SeriesSet).Close)
	return set
}

// Next steps to the next series. It returns false after the last, and after an error. The rest of a block that turns out
// to be damaged is left out, and gives a warning.
func (s *SeriesSet) Next() bool {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil && s.rows != nil {
		s.err = check(C.cx_rows_next(s.rows, &s.series, &s.failure), &s.failure)
		if s.err == nil && s.series.id_count > 0 {
			s.current = copied(&s.series)
			return true
		}
		s.warn()
	}
	s.Close()
	return false
}

// warn adds the errors of damaged blocks that the rows have met.
func (s *SeriesSet) warn() {
	var failure C.cx_error
	var damaged *C.cx_failures
	if check(C.cx_failures_new(&damaged, &failure), &failure) == nil {
		C.cx_rows_damaged(s.rows, damaged, nil)
		s.warnings = append(s.warnings, failures(damaged)...)
		C.cx_failures_free(damaged)
	}
}

// copied copies a series out of the blocks.
func copied(series *C.cx_series) Series {
	found := Series{Labels: make([]Label, series.label_count), IDs: make([]SeriesID, series.id_count)}
	for i, label := range unsafe.Slice(series.labels, series.label_count) {
		found.Labels[i] = Label{
			Name:  C.GoStringN(label.name, C.int(label.name_len)),
			Value: C.GoStringN(label.value, C.int(label.value_len)),
		}
	}
	for i, id := range unsafe.Slice(series.ids, series.id_count) {
		found.IDs[i].Series = uint32(id.series)
		for place, digit := range id.block.bytes {
			found.IDs[i].Block[place] = byte(digit)
		}
	}
	return found
}

// At returns the current series, which the caller may keep.
func (s *SeriesSet) At() Series { return s.current }

// Err returns the error that ended the walk.
func (s *SeriesSet) Err() error { return s.err }

// Warnings returns the errors of damaged blocks, whose series are missing. More may come until the walk ends.
func (s *SeriesSet) Warnings() []error { return s.warnings }

// Close releases the series.
func (s *SeriesSet) Close() {
	C.cx_rows_free(s.rows)
	s.rows = nil
	runtime.SetFinalizer(s, nil)
}
