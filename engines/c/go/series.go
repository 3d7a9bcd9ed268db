package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"runtime"
	"slices"
	"strings"
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

// seriesPerBatch is the number of series per crossing to C. A crossing costs some 50 ns, and a batch of series with 25
// labels takes 100 KB, which fits into the cache of a core.
const seriesPerBatch = 128

// SeriesSet walks over selected series. Close releases it before its end.
type SeriesSet struct {
	ctx      context.Context
	rows     *C.cx_rows
	batch    Batch
	position int
	warnings []error
	err      error
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
	if s.err == nil && s.position+1 < s.batch.Len() {
		s.position++
		return true
	}
	return s.NextBatch() != nil
}

// NextBatch steps over many series at once, and returns them; nil after the last, and after an error. At returns the
// first of them.
func (s *SeriesSet) NextBatch() *Batch {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil && s.rows != nil {
		s.err = check(C.cx_rows_next_batch(s.rows, seriesPerBatch, &s.batch.series, &s.failure), &s.failure)
		if s.err == nil && s.batch.Len() > 0 {
			s.position = 0
			return &s.batch
		}
		s.warn()
	}
	s.Close()
	return nil
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

// At returns the current series, which the caller may keep.
func (s *SeriesSet) At() Series {
	ids, _ := s.batch.IDs(s.position)
	found := Series{Labels: make([]Label, 0, s.batch.LabelCount(s.position)), IDs: slices.Clone(ids)}
	s.batch.EachLabel(s.position, func(name, value string) {
		found.Labels = append(found.Labels, Label{Name: strings.Clone(name), Value: strings.Clone(value)})
	})
	return found
}

// Err returns the error that ended the walk.
func (s *SeriesSet) Err() error { return s.err }

// Warnings returns the errors of damaged blocks, whose series are missing. More may come until the walk ends.
func (s *SeriesSet) Warnings() []error { return s.warnings }

// Close releases the series.
func (s *SeriesSet) Close() {
	// Its arrays are those of the rows.
	s.batch = Batch{}
	C.cx_rows_free(s.rows)
	s.rows = nil
	runtime.SetFinalizer(s, nil)
}
