package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"runtime"
	"slices"
	"unsafe"
)

// Querier queries the series that may have data in a range of times. It is the caller's: one goroutine at a time.
type Querier struct {
	blocks *Blocks
	within C.cx_time_range
	// MaxSeries limits the series that a Select may return, or is 0. More are an error.
	MaxSeries uint64
	// MaxStrings limits the names and values of labels that are returned, the first ones, or is 0.
	MaxStrings int
	// StringsAfter leaves out names and values of labels up to this one, in the order of bytes.
	StringsAfter string
}

// Querier returns a querier of the times from mint to maxt, in milliseconds since 1970, both included.
func (b *Blocks) Querier(mint, maxt int64) *Querier {
	// The last nanosecond of the last of these milliseconds still has 64 bits.
	const perMillisecond, most = 1_000_000, (1<<63-1)/1_000_000 - 1
	nanoseconds := func(milliseconds int64) C.int64_t {
		return C.int64_t(max(min(milliseconds, most), -most) * perMillisecond)
	}
	return &Querier{blocks: b, within: C.cx_time_range{start: nanoseconds(mint), end: nanoseconds(maxt) + perMillisecond - 1}}
}

// query calls ask with compiled matchers, and with limits that the context cancels. It returns the errors of damaged
// blocks as warnings.
func (q *Querier) query(
	ctx context.Context, matchers []Matcher, ask func(*C.cx_query, *C.cx_error) C.cx_status,
) (warnings []error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	selector, err := newSelector(matchers)
	if err != nil {
		return nil, err
	}
	defer C.cx_selector_free(selector)
	var failure C.cx_error
	var damaged *C.cx_failures
	var cancel *C.cx_cancel
	if err := check(C.cx_failures_new(&damaged, &failure), &failure); err != nil {
		return nil, err
	}
	defer C.cx_failures_free(damaged)
	if err := check(C.cx_cancel_new(&cancel, &failure), &failure); err != nil {
		return nil, err
	}
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		C.cx_cancel_set(cancel)
		close(cancelled)
	})
	// C reads the array and the range of times during the call only.
	var pinned runtime.Pinner
	selectors, within := []*C.cx_selector{selector}, q.within
	pinned.Pin(&selectors[0])
	pinned.Pin(&within)
	var after C.cx_string
	if q.StringsAfter != "" {
		after = pin(&pinned, q.StringsAfter)
	}
	query := C.cx_query{
		selectors: &selectors[0], selector_count: 1, within: &within, damaged: damaged, cancel: cancel,
		max_series: C.uint64_t(q.MaxSeries), max_strings: C.size_t(q.MaxStrings),
		strings_after: after,
	}
	status := ask(&query, &failure)
	pinned.Unpin()
	if !stop() {
		// The function runs or ran: it must not see a flag that is freed.
		<-cancelled
	}
	C.cx_cancel_free(cancel)
	return failures(damaged), check(status, &failure)
}

// LabelNames returns the names of the labels of the series that satisfy all matchers, sorted.
func (q *Querier) LabelNames(ctx context.Context, matchers ...Matcher) (names []string, warnings []error, err error) {
	list, warnings, err := q.labelNames(ctx, matchers)
	defer C.cx_strings_free(list)
	return copied(list), warnings, err
}

// LabelValues returns the values that a label has in the series that satisfy all matchers, sorted.
func (q *Querier) LabelValues(
	ctx context.Context, name string, matchers ...Matcher,
) (values []string, warnings []error, err error) {
	list, warnings, err := q.labelValues(ctx, name, matchers)
	defer C.cx_strings_free(list)
	return copied(list), warnings, err
}

// LabelNameViews is LabelNames without copies: the names are those of the blocks, as long as these stay open.
// strings.Clone keeps one.
func (q *Querier) LabelNameViews(ctx context.Context, matchers ...Matcher) (names []string, warnings []error, err error) {
	list, warnings, err := q.labelNames(ctx, matchers)
	defer C.cx_strings_free(list)
	return views(list), warnings, err
}

// LabelValueViews is LabelValues without copies, as LabelNameViews.
func (q *Querier) LabelValueViews(
	ctx context.Context, name string, matchers ...Matcher,
) (values []string, warnings []error, err error) {
	list, warnings, err := q.labelValues(ctx, name, matchers)
	defer C.cx_strings_free(list)
	return views(list), warnings, err
}

func (q *Querier) labelNames(ctx context.Context, matchers []Matcher) (list *C.cx_strings, warnings []error, err error) {
	warnings, err = q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		return C.cx_query_label_names(q.blocks.handle, query, &list, failure)
	})
	return list, warnings, err
}

func (q *Querier) labelValues(
	ctx context.Context, name string, matchers []Matcher,
) (list *C.cx_strings, warnings []error, err error) {
	warnings, err = q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		text := (*C.char)(unsafe.Pointer(unsafe.StringData(name)))
		return C.cx_query_label_values(q.blocks.handle, query, text, C.size_t(len(name)), &list, failure)
	})
	return list, warnings, err
}

// Select returns the series that satisfy all matchers, in the order of their labels if sorted, and otherwise in that of
// their ids, which is faster. A series that several blocks have comes once, with its id in each.
func (q *Querier) Select(ctx context.Context, sorted bool, matchers ...Matcher) *SeriesSet {
	order := C.cx_order(C.CX_ORDER_REFS)
	if sorted {
		order = C.CX_ORDER_LABELS
	}
	var rows *C.cx_rows
	warnings, err := q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		return C.cx_query_series(q.blocks.handle, query, order, &rows, failure)
	})
	return newSeriesSet(ctx, rows, warnings, err)
}

// IDRange is a run of neighbouring series of a block.
type IDRange struct {
	Block [16]byte
	// Start is the position of the first series in the block, and End the one behind the last.
	Start, End uint32
}

// SelectRanges returns the ids of the series that satisfy all matchers, in their order. A series that several blocks
// have comes in each.
func (q *Querier) SelectRanges(ctx context.Context, matchers ...Matcher) (ranges []IDRange, warnings []error, err error) {
	var selection *C.cx_selection
	warnings, err = q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		return C.cx_query_select(q.blocks.handle, query, &selection, failure)
	})
	defer C.cx_selection_free(selection)
	first := (*IDRange)(unsafe.Pointer(C.cx_selection_ranges(selection)))
	return slices.Clone(unsafe.Slice(first, C.cx_selection_range_count(selection))), warnings, err
}

// It does not compile if the layouts differ.
var _ [unsafe.Sizeof(IDRange{})]byte = [C.sizeof_cx_id_range]byte{}
