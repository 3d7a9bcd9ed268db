package prometheus

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

var _ storage.Searcher = (*querier)(nil)

// firstPage is the number of names or values that a search in ascending order first looks at.
const firstPage = 1024

// SearchLabelNames searches the names of labels.
func (q *querier) SearchLabelNames(
	ctx context.Context, hints *storage.SearchHints, matchers ...*labels.Matcher,
) storage.SearchResultSet {
	return search(hints, func(limit int) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, &storage.LabelHints{Limit: limit}, matchers...)
	})
}

// SearchLabelValues searches the values of a label.
func (q *querier) SearchLabelValues(
	ctx context.Context, name string, hints *storage.SearchHints, matchers ...*labels.Matcher,
) storage.SearchResultSet {
	return search(hints, func(limit int) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, &storage.LabelHints{Limit: limit}, matchers...)
	})
}

// search searches in sorted strings. list returns the first ones up to a limit, or all for 0.
func search(
	hints *storage.SearchHints, list func(limit int) ([]string, annotations.Annotations, error),
) storage.SearchResultSet {
	if hints == nil {
		hints = &storage.SearchHints{}
	}
	if hints.OrderBy == storage.OrderByValueAsc {
		return &ascending{hints: hints, list: list}
	}
	all, warnings, err := list(0)
	if err != nil {
		return storage.ErrSearchResultSet(err, warnings)
	}
	return storage.NewSearchResultSetFromSlice(storage.ApplySearchHints(all, hints), warnings)
}

// ascending gives results as they are found: first those of few strings, and if more are wanted, of all.
type ascending struct {
	hints *storage.SearchHints
	list  func(limit int) ([]string, annotations.Annotations, error)

	strings  []string
	isWhole  bool
	position int
	results  int
	current  storage.SearchResult
	warnings annotations.Annotations
	err      error
}

func (a *ascending) Next() bool {
	if a.err != nil || a.hints.Limit > 0 && a.results == a.hints.Limit {
		return false
	}
	for {
		for a.position < len(a.strings) {
			value := a.strings[a.position]
			a.position++
			accepted, score := true, 1.0
			if a.hints.Filter != nil {
				accepted, score = a.hints.Filter.Accept(value)
			}
			if accepted {
				a.current = storage.SearchResult{Value: value, Score: score}
				a.results++
				return true
			}
		}
		if a.isWhole {
			return false
		}
		limit := firstPage
		if len(a.strings) > 0 {
			limit = 0
		}
		a.strings, a.warnings, a.err = a.list(limit)
		a.isWhole = limit == 0 || len(a.strings) < limit
		if a.err != nil {
			return false
		}
	}
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
// position start on; all from there on if count is 0. Postings cannot tell, without a look at those of each value.
func (q *Queryable) RankedLabelValues(
	ctx context.Context, mint, maxt int64, name string, start, count int, matchers ...*labels.Matcher,
) (ranked []RankedValue, warnings annotations.Annotations, err error) {
	base, err := q.querier(mint, maxt)
	if err != nil {
		return nil, nil, err
	}
	defer base.Close()
	groups, failures, err := base.strings(0).CountBy(ctx, []string{name}, converted(matchers)...)
	if err != nil {
		return nil, nil, err
	}
	for _, group := range groups {
		if len(group.Labels) == 1 {
			ranked = append(ranked, RankedValue{group.Labels[0].Value, group.Series})
		}
	}
	slices.SortStableFunc(ranked, func(left, right RankedValue) int { return cmp.Compare(right.Series, left.Series) })
	ranked = ranked[min(max(start, 0), len(ranked)):]
	if count > 0 {
		ranked = ranked[:min(count, len(ranked))]
	}
	return ranked, annotated(failures), nil
}
