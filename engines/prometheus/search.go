package prometheus

import (
	"context"
	"math"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"chronoxide"
)

var _ storage.Searcher = (*querier)(nil)

// SearchLabelNames searches the names of labels.
func (q *querier) SearchLabelNames(
	ctx context.Context, hints *storage.SearchHints, matchers ...*labels.Matcher,
) storage.SearchResultSet {
	return search(hints, func(after string, limit int) ([]string, []error, error) {
		return q.page(after, limit).LabelNameViews(ctx, converted(matchers)...)
	})
}

// SearchLabelValues searches the values of a label.
func (q *querier) SearchLabelValues(
	ctx context.Context, name string, hints *storage.SearchHints, matchers ...*labels.Matcher,
) storage.SearchResultSet {
	return search(hints, func(after string, limit int) ([]string, []error, error) {
		return q.page(after, limit).LabelValueViews(ctx, name, converted(matchers)...)
	})
}

// page returns a querier of some names or values, behind one of them.
func (q *querier) page(after string, limit int) *chronoxide.Querier {
	page := q.strings(limit)
	page.StringsAfter = after
	return page
}

// Strings of the first page of a search, and how many times as many each further page has.
const firstPage, pageGrowth = 1024, 8

// search searches in sorted strings. list returns those behind one of them, as many as limit or less at the end; all for
// 0. Strings that do not match are not copied.
func search(
	hints *storage.SearchHints, list func(after string, limit int) ([]string, []error, error),
) storage.SearchResultSet {
	if hints == nil {
		hints = &storage.SearchHints{}
	}
	if hints.OrderBy == storage.OrderByValueAsc {
		return &ascending{hints: hints, list: list, limit: firstPage}
	}
	all, warnings, err := list("", 0)
	if err != nil {
		return storage.ErrSearchResultSet(err, annotated(warnings))
	}
	found := storage.ApplySearchHints(all, hints)
	for i := range found {
		found[i].Value = strings.Clone(found[i].Value)
	}
	return storage.NewSearchResultSetFromSlice(found, annotated(warnings))
}

// ascending gives results as they are found, page by page.
type ascending struct {
	hints *storage.SearchHints
	list  func(after string, limit int) ([]string, []error, error)
	limit int

	page     []string
	position int
	isLast   bool
	results  int
	current  storage.SearchResult
	warnings annotations.Annotations
	err      error
}

func (a *ascending) Next() bool {
	if a.hints.Limit > 0 && a.results == a.hints.Limit {
		return false
	}
	for a.err == nil {
		for a.position < len(a.page) {
			value := a.page[a.position]
			a.position++
			accepted, score := true, 1.0
			if a.hints.Filter != nil {
				accepted, score = a.hints.Filter.Accept(value)
			}
			if accepted {
				a.current = storage.SearchResult{Value: strings.Clone(value), Score: score}
				a.results++
				return true
			}
		}
		if a.isLast {
			return false
		}
		a.nextPage()
	}
	return false
}

func (a *ascending) nextPage() {
	after := ""
	if len(a.page) > 0 {
		after = a.page[len(a.page)-1]
	}
	var warnings []error
	a.page, warnings, a.err = a.list(after, a.limit)
	a.warnings.Merge(annotated(warnings))
	a.position, a.isLast = 0, len(a.page) < a.limit
	a.limit *= pageGrowth
}

func (a *ascending) At() storage.SearchResult { return a.current }

func (a *ascending) Warnings() annotations.Annotations { return a.warnings }

func (a *ascending) Err() error { return a.err }

func (*ascending) Close() error { return nil }

// RankedValue is a value of a label, and the number of series that have it.
type RankedValue struct {
	Value  string
	Series uint64
}

// RankedLabelValues returns values of a label in the selected series, those of most series first: count of them, from
// position start on; all from there on if count is 0. Only values that keep returns true for are counted, or all if it
// is nil. Postings cannot tell, without a look at those of each value.
func (q *Queryable) RankedLabelValues(
	ctx context.Context, mint, maxt int64, name string, keep func(value string) bool, start, count int,
	matchers ...*labels.Matcher,
) (ranked []RankedValue, warnings annotations.Annotations, err error) {
	base, err := q.querier(mint, maxt)
	if err != nil {
		return nil, nil, err
	}
	defer base.Close()
	start, limit := max(start, 0), 0
	if count > 0 && start < math.MaxInt/4-count {
		limit = start + count
	}
	all := greatest{limit: limit}
	failures, err := base.strings(0).EachGroup(ctx, []string{name}, func(group chronoxide.Group) {
		if len(group.Labels) == 1 && (keep == nil || keep(group.Labels[0].Value)) {
			all.add(group.Labels[0].Value, group.Series)
		}
	}, converted(matchers)...)
	if err != nil {
		return nil, nil, err
	}
	found := all.sorted()
	for _, one := range found[min(start, len(found)):] {
		ranked = append(ranked, RankedValue{one.Name, one.Count})
	}
	return ranked, annotated(failures), nil
}
