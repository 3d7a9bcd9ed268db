package prometheus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"chronoxide/prometheus/internal/synthetic"
)

// part accepts values with a text in them, and scores short ones higher.
type part string

func (p part) Accept(value string) (bool, float64) {
	return strings.Contains(value, string(p)), 1 / float64(len(value))
}

// manyPods is a data folder with series of 3,000 pods; one with a number that 7 divides has two.
func manyPods(t testing.TB) *Queryable {
	data := t.TempDir()
	var series []storage.Series
	sample := []chunks.Sample{synthetic.Sample{Time: 1_700_000_000_000, Value: 1}}
	for number := range 3000 {
		pod := fmt.Sprintf("pod-%d", number)
		series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "up", "pod", pod), sample))
		if number%7 == 0 {
			series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "down", "pod", pod), sample))
		}
	}
	if _, err := tsdb.CreateBlock(series, data, hour, quiet); err != nil {
		t.Fatal(err)
	}
	return open(t, convert(t, data), data)
}

func TestSearchesAreThoseOfPrometheus(t *testing.T) {
	queryable := manyPods(t)
	querier, err := queryable.Querier(minTime, maxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	ctx, down := context.Background(), labels.MustNewMatcher(labels.MatchEqual, "__name__", "down")
	for _, filter := range []storage.Filter{nil, part("99"), part("pod-29"), part("nothing")} {
		for _, order := range []storage.Ordering{
			storage.OrderByValueAsc, storage.OrderByValueDesc, storage.OrderByScoreDesc,
		} {
			for _, limit := range []int{0, 1, 100, 2000} {
				for _, matchers := range [][]*labels.Matcher{nil, {down}} {
					hints := &storage.SearchHints{Filter: filter, Limit: limit, OrderBy: order}
					all, _, err := querier.LabelValues(ctx, "pod", nil, matchers...)
					if err != nil || len(all) < 400 {
						t.Fatal(len(all), err)
					}
					expected := storage.ApplySearchHints(all, hints)
					var found []storage.SearchResult
					set := querier.(storage.Searcher).SearchLabelValues(ctx, "pod", hints, matchers...)
					for set.Next() {
						found = append(found, set.At())
					}
					if set.Err() != nil || set.Close() != nil || !slices.Equal(found, expected) {
						t.Fatal(filter, order, limit, set.Err(), len(found), len(expected))
					}
				}
			}
		}
	}
	names := querier.(storage.Searcher).SearchLabelNames(ctx, &storage.SearchHints{Filter: part("o")})
	if !names.Next() || names.At().Value != "pod" || names.Next() {
		t.Fatal(names.At(), names.Err())
	}
}

func TestValuesAreRankedBySeries(t *testing.T) {
	queryable, ctx := manyPods(t), context.Background()
	ranked, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "__name__", 0, 0)
	if err != nil || !slices.Equal(ranked, []RankedValue{{"up", 3000}, {"down", 429}}) {
		t.Fatal(ranked, err)
	}
	all, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "pod", 0, 0)
	if err != nil || len(all) != 3000 || all[428].Series != 2 || all[429].Series != 1 {
		t.Fatal(len(all), err)
	}
	var paged []RankedValue
	for start := 0; start == len(paged); start += 700 {
		page, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "pod", start, 700)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
	}
	if !slices.Equal(paged, all) {
		t.Fatal("pages are not the whole")
	}
}
