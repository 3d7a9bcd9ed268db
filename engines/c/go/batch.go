package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Batch is several series. What its methods return points into blocks or into memory that the next batch reuses: it is
// valid until the next call that made the batch, and the blocks stay open.
type Batch struct {
	series C.cx_series_batch
}

// Len returns the number of series.
func (b *Batch) Len() int { return int(b.series.series_count) }

// AllIDs returns the ids of all series, those of each after those of the one before.
func (b *Batch) AllIDs() []SeriesID {
	if b.series.ids == nil {
		return nil
	}
	first := (*SeriesID)(unsafe.Pointer(b.series.ids))
	return unsafe.Slice(first, b.ends(b.series.id_ends)[b.Len()-1])
}

// IDs returns the ids of a series, one per block that has it: the first is at position first of AllIDs.
func (b *Batch) IDs(series int) (ids []SeriesID, first int) {
	start, end := b.span(b.series.id_ends, series)
	return b.AllIDs()[start:end], start
}

// LabelCount returns the number of the labels of a series.
func (b *Batch) LabelCount(series int) int {
	start, end := b.span(b.series.label_ends, series)
	return end - start
}

// EachLabel calls each with the labels of a series, in the order of their names. The strings are those of the block:
// strings.Clone keeps one.
func (b *Batch) EachLabel(series int, each func(name, value string)) {
	start, end := b.span(b.series.label_ends, series)
	if start == end {
		return
	}
	for _, label := range unsafe.Slice(b.series.labels, end)[start:] {
		each(unsafeString(label.name, label.name_len), unsafeString(label.value, label.value_len))
	}
	// The array is that of the rows or the reader, which the batch belongs to.
	runtime.KeepAlive(b)
}

// unsafeString returns bytes of a block as a string, without a copy.
func unsafeString(data *C.char, len C.size_t) string {
	return unsafe.String((*byte)(unsafe.Pointer(data)), int(len))
}

func (b *Batch) ends(ends *C.size_t) []C.size_t { return unsafe.Slice(ends, b.Len()) }

// span returns start and end of a series by the ends of all.
func (b *Batch) span(ends *C.size_t, series int) (start, end int) {
	all := b.ends(ends)
	if series > 0 {
		start = int(all[series-1])
	}
	return start, int(all[series])
}

// Reader reads the labels of series by their ids, and keeps what neighbours share: read series in the order of their
// ids. It serves one goroutine at a time.
type Reader struct {
	handle  *C.cx_reader
	batch   Batch
	failure C.cx_error
}

// Reader returns a reader of the blocks, which it keeps open until Close.
func (b *Blocks) Reader() (*Reader, error) {
	reader := &Reader{}
	var failure C.cx_error
	if err := check(C.cx_reader_new(b.handle, &reader.handle, &failure), &failure); err != nil {
		return nil, err
	}
	// For callers that do not close the reader.
	runtime.SetFinalizer(reader, (*Reader).Close)
	return reader, nil
}

// Labels reads the labels of series. A series that no block has gets none. A call costs one crossing to C: read many
// series at once.
func (r *Reader) Labels(ids []SeriesID) (*Batch, error) {
	status := C.cx_reader_labels_batch(r.handle, cIDs(ids), C.size_t(len(ids)), &r.batch.series, &r.failure)
	return &r.batch, check(status, &r.failure)
}

// Close releases the reader.
func (r *Reader) Close() {
	C.cx_reader_free(r.handle)
	r.handle = nil
	runtime.SetFinalizer(r, nil)
}
