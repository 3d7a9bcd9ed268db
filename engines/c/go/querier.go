package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"unsafe"
)

// Querier queries the blocks of a set that may have data in a range of times. It is the caller's: one goroutine at a
// time.
type Querier struct {
	set    *Set
	within C.cx_time_range
	// MaxSeries limits the series that a Select may return, or is 0.
	MaxSeries uint64
}

// Querier returns a querier of the times from mint to maxt, in milliseconds since 1970, both included.
func (s *Set) Querier(mint, maxt int64) *Querier {
	const perMillisecond, most = 1_000_000, 1<<63 - 1
	nanoseconds := func(milliseconds int64) C.int64_t {
		return C.int64_t(max(min(milliseconds, most/perMillisecond), -most/perMillisecond) * perMillisecond)
	}
	return &Querier{set: s, within: C.cx_time_range{start: nanoseconds(mint), end: nanoseconds(maxt) + perMillisecond - 1}}
}

// query calls ask with compiled matchers, and with limits that the context cancels.
func (q *Querier) query(
	ctx context.Context, matchers []Matcher, ask func(*C.cx_selector, *C.cx_limits, *C.cx_error) C.cx_status,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	selector, err := newSelector(matchers)
	if err != nil {
		return err
	}
	defer C.cx_selector_free(selector)
	var failure C.cx_error
	limits := C.cx_limits{max_series: C.uint64_t(q.MaxSeries)}
	if err := check(C.cx_cancel_new(&limits.cancel, &failure), &failure); err != nil {
		return err
	}
	cancel := limits.cancel
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		C.cx_cancel_set(cancel)
		close(cancelled)
	})
	status := ask(selector, &limits, &failure)
	if !stop() {
		// The function runs or ran: it must not see a flag that is freed.
		<-cancelled
	}
	C.cx_cancel_free(cancel)
	return check(status, &failure)
}

// LabelNames returns the names of the labels of the series that satisfy all matchers, sorted.
func (q *Querier) LabelNames(ctx context.Context, matchers ...Matcher) (names []string, warnings []error, err error) {
	var list *C.cx_strings
	err = q.query(ctx, matchers, func(selector *C.cx_selector, limits *C.cx_limits, failure *C.cx_error) C.cx_status {
		return C.cx_set_label_names(q.set.handle, selector, &q.within, limits, &list, failure)
	})
	if err != nil {
		return nil, nil, err
	}
	warnings = failures(C.cx_strings_failures(list))
	return takeStrings(list), warnings, nil
}

// LabelValues returns the values that a label has in the series that satisfy all matchers, sorted.
func (q *Querier) LabelValues(
	ctx context.Context, name string, matchers ...Matcher,
) (values []string, warnings []error, err error) {
	var list *C.cx_strings
	err = q.query(ctx, matchers, func(selector *C.cx_selector, limits *C.cx_limits, failure *C.cx_error) C.cx_status {
		text := (*C.char)(unsafe.Pointer(unsafe.StringData(name)))
		size := C.size_t(len(name))
		return C.cx_set_label_values(q.set.handle, text, size, selector, &q.within, 0, limits, &list, failure)
	})
	if err != nil {
		return nil, nil, err
	}
	warnings = failures(C.cx_strings_failures(list))
	return takeStrings(list), warnings, nil
}

// Select returns the series that satisfy all matchers, in the order of their labels. A series that several blocks have
// comes once, with its ref in each.
func (q *Querier) Select(ctx context.Context, matchers ...Matcher) *SeriesSet {
	var selection *C.cx_set_selection
	err := q.query(ctx, matchers, func(selector *C.cx_selector, limits *C.cx_limits, failure *C.cx_error) C.cx_status {
		return C.cx_set_select(q.set.handle, selector, &q.within, limits, &selection, failure)
	})
	if err != nil {
		return &SeriesSet{err: err}
	}
	defer C.cx_set_selection_free(selection)
	return newSeriesSet(ctx, selection)
}
