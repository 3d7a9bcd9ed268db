package prometheus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	api "github.com/prometheus/prometheus/web/api/v1"

	"chronoxide/prometheus/internal/synthetic"
)

// part accepts values with a text in them, and scores short ones higher.
type part string

func (p part) Accept(value string) (bool, float64) {
	return strings.Contains(value, string(p)), 1 / float64(len(value))
}

// manyPods is a data folder with series of pods; one with a number that 7 divides has two.
func manyPods(t testing.TB, count int) (*Queryable, oracle) {
	data := t.TempDir()
	var series []storage.Series
	sample := []chunks.Sample{synthetic.Sample{Time: 1_700_000_000_000, Value: 1}}
	for number := range count {
		pod := fmt.Sprintf("pod-%d", number)
		series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "up", "pod", pod), sample))
		if number%7 == 0 {
			series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "down", "pod", pod), sample))
		}
	}
	if _, err := tsdb.CreateBlock(series, data, hour, quiet); err != nil {
		t.Fatal(err)
	}
	return open(t, convert(t, data), data), openOracle(t, data)
}

func TestSearchesAreThoseOfPrometheus(t *testing.T) {
	queryable, _ := manyPods(t, 3000)
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
	queryable, _ := manyPods(t, 3000)
	ctx := context.Background()
	ranked, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "__name__", nil, 0, 0)
	if err != nil || !slices.Equal(ranked, []RankedValue{{"up", 3000}, {"down", 429}}) {
		t.Fatal(ranked, err)
	}
	all, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "pod", nil, 0, 0)
	if err != nil || len(all) != 3000 || all[428].Series != 2 || all[429].Series != 1 {
		t.Fatal(len(all), err)
	}
	var paged []RankedValue
	for start := 0; start == len(paged); start += 700 {
		page, _, err := queryable.RankedLabelValues(ctx, minTime, maxTime, "pod", nil, start, 700)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
	}
	if !slices.Equal(paged, all) {
		t.Fatal("pages are not the whole")
	}
}

func TestReferencesOutOfRangeAreNotFound(t *testing.T) {
	queryable, theirs := manyPods(t, 10)
	infos, err := queryable.snapshot.blocks.Infos()
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	block, err := OpenBlock(infos[0].Path, theirs[0].Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer block.Close()
	reader, err := block.Index()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, ref := range []storage.SeriesRef{0, 13, 1 << 40} {
		_, err := reader.LabelNamesFor(context.Background(), index.NewListPostings([]storage.SeriesRef{ref}))
		if !errors.Is(err, storage.ErrNotFound) && ref > 0 {
			t.Error(ref, err)
		}
		if err := reader.Series(ref, &labels.ScratchBuilder{}, nil); !errors.Is(err, storage.ErrNotFound) {
			t.Error(ref, err)
		}
	}
	if names, err := reader.LabelNamesFor(context.Background(), index.NewListPostings([]storage.SeriesRef{1, 12})); len(names) != 2 {
		t.Error(names, err)
	}
}

// The time until the first 100 results are there.
func BenchmarkSearch(b *testing.B) {
	ctx := context.Background()
	for _, count := range []int{7_000, 300_000, 400_000} {
		ours, theirs := manyPods(b, count)
		for _, question := range []struct {
			name  string
			hints storage.SearchHints
		}{
			{"all", storage.SearchHints{}},
			{"substring", storage.SearchHints{Filter: api.NewSubstringFilter("42")}},
			{"substring of one", storage.SearchHints{Filter: api.NewSubstringFilter("pod-6999")}},
			{"subsequence", storage.SearchHints{Filter: api.NewSubsequenceFilter("p42", 0)}},
			{"subsequence by score", storage.SearchHints{
				Filter: api.NewSubsequenceFilter("p42", 0), OrderBy: storage.OrderByScoreDesc, Limit: 101,
			}},
		} {
			for _, one := range []contender{{"ours", ours}, {"prometheus", theirs}} {
				b.Run(fmt.Sprintf("%d/%s/%s", count, question.name, one.name), func(b *testing.B) {
					for b.Loop() {
						querier, err := one.queryable.Querier(minTime, maxTime)
						if err != nil {
							b.Fatal(err)
						}
						set := querier.(storage.Searcher).SearchLabelValues(ctx, "pod", &question.hints)
						for range 100 {
							set.Next()
						}
						if set.Err() != nil {
							b.Fatal(set.Err())
						}
						set.Close()
						querier.Close()
					}
				})
			}
		}
		b.Run(fmt.Sprintf("%d/ranked/ours", count), func(b *testing.B) {
			for b.Loop() {
				if ranked, _, err := ours.RankedLabelValues(ctx, minTime, maxTime, "pod", nil, 0, 100); err != nil || len(ranked) != 100 {
					b.Fatal(len(ranked), err)
				}
			}
		})
	}
}
