package chronoxide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// golden is the folder of the golden blocks of the repository.
const golden = "../../../testdata/golden"

// folder copies golden blocks to a temporary folder.
func folder(t testing.TB, names ...string) string {
	t.Helper()
	path := t.TempDir()
	for _, name := range names {
		from, err := os.Open(filepath.Join(golden, name))
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.Create(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// open opens a folder without unreadable files.
func open(t testing.TB, path string) *Blocks {
	t.Helper()
	blocks, warnings, err := Open(path)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	t.Cleanup(blocks.Close)
	return blocks
}

// text writes a series as the dumps of the goldens do.
func text(labels []Label) string {
	var pairs []string
	for _, label := range labels {
		pairs = append(pairs, fmt.Sprintf("%q=%q", label.Name, label.Value))
	}
	return strings.Join(pairs, " ")
}

// dumped returns the series of a golden's dump, by ref.
func dumped(t *testing.T, name string) []string {
	t.Helper()
	dump, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(dump), "\nseries ")
	if !found {
		t.Fatal("the dump lists no series")
	}
	var series []string
	for _, line := range strings.Split(list, "\n")[1:] {
		if !strings.HasPrefix(line, "  ") {
			break
		}
		_, labels, _ := strings.Cut(strings.TrimSpace(line), " ")
		series = append(series, labels)
	}
	return series
}

func everything(blocks *Blocks) *Querier { return blocks.Querier(math.MinInt64, math.MaxInt64) }

func TestSeriesAreThoseOfTheDump(t *testing.T) {
	expected := dumped(t, "planned.txt")
	series := everything(open(t, folder(t, "planned.cx"))).Select(context.Background(), true)
	var last []Label
	seen := 0
	for ; series.Next(); seen++ {
		found := series.At()
		if len(found.IDs) != 1 || text(found.Labels) != expected[found.IDs[0].Series] {
			t.Fatalf("%v %v", found.IDs, text(found.Labels))
		}
		if slices.CompareFunc(last, found.Labels, Label.Compare) >= 0 {
			t.Fatalf("%v is not after %v", found.Labels, last)
		}
		last = found.Labels
	}
	if series.Err() != nil || seen != len(expected) || seen != 780 {
		t.Fatal(series.Err(), seen)
	}
}

func TestSeriesOfSeveralBlocksComeOnce(t *testing.T) {
	// The first two have the same series, and different ids: with one id, they would be copies.
	blocks := open(t, folder(t, "plain-bitpacked.cx", "read-only.cx", "planned-small.cx"))
	series := everything(blocks).Select(context.Background(), true, Matcher{MatchNotEqual, "__name__", ""})
	refs, joined := 0, 0
	var last []Label
	for series.Next() {
		found := series.At()
		refs += len(found.IDs)
		if len(found.IDs) == 2 {
			joined++
		}
		if slices.CompareFunc(last, found.Labels, Label.Compare) >= 0 {
			t.Fatalf("%v is not after %v", found.Labels, last)
		}
		last = found.Labels
	}
	if series.Err() != nil || joined != 7 || refs != 2*7+46 {
		t.Fatal(series.Err(), joined, refs)
	}
}

func TestNamesAndValues(t *testing.T) {
	querier := everything(open(t, folder(t, "plain-bitpacked.cx", "planned-small.cx")))
	background := context.Background()
	names, warnings, err := querier.LabelNames(background, Matcher{MatchEqual, "__name__", "up"})
	if err != nil || warnings != nil || !slices.Equal(names, []string{"__name__", "job", "pod"}) {
		t.Fatal(names, warnings, err)
	}
	values, _, err := querier.LabelValues(background, "pod", Matcher{MatchNotRegexp, "pod", "p.*|"})
	if err != nil || !slices.Equal(values, []string{"api-1", "api-2", "db-1"}) {
		t.Fatal(values, err)
	}
	values, _, err = querier.LabelValues(background, "")
	if err != nil || len(values) != 0 {
		t.Fatal(values, err)
	}
}

func TestTimeLimitsBlocks(t *testing.T) {
	blocks := open(t, folder(t, "meta.cx"))
	count := func(mint, maxt int64) int {
		series := blocks.Querier(mint, maxt).Select(context.Background(), true)
		seen := 0
		for series.Next() {
			seen++
		}
		return seen
	}
	if in, before, after := count(1_700_000_001_000, 1_700_000_002_000), count(0, 1_699_999_999_999),
		count(1_700_003_600_001, math.MaxInt64); in != 10 || before != 0 || after != 0 {
		t.Fatal(in, before, after)
	}
}

func TestRefresh(t *testing.T) {
	path := folder(t, "plain-bitpacked.cx")
	blocks := open(t, path)
	from, err := os.ReadFile(filepath.Join(golden, "planned-small.cx"))
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "new.cx"), from, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh, warnings, err := blocks.Refresh()
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	defer fresh.Close()
	count := func(blocks *Blocks) (seen int, ids map[SeriesID]bool) {
		ids = map[SeriesID]bool{}
		for series := everything(blocks).Select(context.Background(), true); series.Next(); seen++ {
			for _, id := range series.At().IDs {
				ids[id] = true
			}
		}
		return seen, ids
	}
	before, old := count(blocks)
	after, all := count(fresh)
	if before != 10 || after != 56 || len(old) != 10 || len(all) != 56 {
		t.Fatal(before, after, len(old), len(all))
	}
	for id := range old {
		if !all[id] {
			t.Fatalf("%v is another series now", id)
		}
	}
}

func TestErrors(t *testing.T) {
	var failure *Error
	if _, _, err := Open("no/such/folder"); !errors.As(err, &failure) || failure.Status != 1 {
		t.Fatal(err)
	}
	path := folder(t, "planned.cx")
	if err := os.WriteFile(filepath.Join(path, "broken.cx"), []byte("not a block"), 0o644); err != nil {
		t.Fatal(err)
	}
	blocks, warnings, err := Open(path)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "broken.cx") {
		t.Fatal(err, warnings)
	}
	defer blocks.Close()
	series := everything(blocks).Select(context.Background(), true, Matcher{MatchRegexp, "pod", "("})
	if series.Next() || !errors.As(series.Err(), &failure) || failure.Status != 2 {
		t.Fatal(series.Err())
	}
	limited := everything(blocks)
	limited.MaxSeries = 779
	if series := limited.Select(context.Background(), true); series.Next() || !strings.Contains(series.Err().Error(), "779") {
		t.Fatal(series.Err())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := everything(blocks).Select(ctx, true)
	if !cancelled.Next() {
		t.Fatal(cancelled.Err())
	}
	cancel()
	if cancelled.Next() || !errors.Is(cancelled.Err(), context.Canceled) {
		t.Fatal(cancelled.Err())
	}
	if _, _, err := everything(blocks).LabelNames(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestGoroutinesShareBlocks(t *testing.T) {
	blocks := open(t, folder(t, "planned.cx", "plain-bitpacked.cx"))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := 0; round < 10; round++ {
				series := everything(blocks).Select(context.Background(), true)
				seen := 0
				for series.Next() {
					seen++
				}
				if seen != 790 || series.Err() != nil {
					t.Error(seen, series.Err())
				}
			}
		}()
	}
	group.Wait()
}

func BenchmarkSelect(b *testing.B) {
	querier := everything(open(b, folder(b, "planned.cx")))
	seen := 0
	for i := 0; i < b.N; i++ {
		series := querier.Select(context.Background(), true)
		for series.Next() {
			seen++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seen), "ns/series")
}

func TestTimeLimitsSeries(t *testing.T) {
	// Minutes at which the series of this block were first and last seen, by the test kit of the goldens.
	minutes := [][2]int64{
		{0, 120}, {0, 120}, {0, 3}, {90, 120}, {0, 120}, {0, 120}, {0, 120}, {119, 120}, {0, 90}, {0, 120},
	}
	blocks := open(t, folder(t, "columns.cx"))
	const start, minute = 1_700_000_040_000, 60_000
	for _, within := range [][2]int64{{0, 2}, {4, 89}, {4, 90}, {91, 118}, {119, 200}, {121, 200}, {-5, -1}} {
		expected := 0
		for _, of := range minutes {
			if of[0] <= within[1] && of[1] >= within[0] {
				expected++
			}
		}
		series := blocks.Querier(start+within[0]*minute, start+within[1]*minute).Select(context.Background(), true)
		seen := 0
		for series.Next() {
			seen++
		}
		if series.Err() != nil || seen != expected {
			t.Fatal(within, series.Err(), seen, expected)
		}
	}
}

func TestSelectionsAreRangesOfIDs(t *testing.T) {
	querier := everything(open(t, folder(t, "plain-bitpacked.cx", "planned-small.cx")))
	for _, matchers := range [][]Matcher{nil, {{MatchEqual, "__name__", "up"}}, {{MatchEqual, "__name__", "no"}}} {
		var expected []SeriesID
		series := querier.Select(context.Background(), false, matchers...)
		for batch := series.NextBatch(); batch != nil; batch = series.NextBatch() {
			expected = append(expected, batch.AllIDs()...)
		}
		ranges, warnings, err := querier.SelectRanges(context.Background(), matchers...)
		if err != nil || warnings != nil {
			t.Fatal(err, warnings)
		}
		var found []SeriesID
		for _, one := range ranges {
			for position := one.Start; position < one.End; position++ {
				found = append(found, SeriesID{one.Block, position})
			}
		}
		if !slices.Equal(found, expected) || (len(found) > 0) != (matchers == nil || matchers[0].Value == "up") {
			t.Fatal(matchers, found, expected)
		}
	}
}

func TestReadersReadManySeries(t *testing.T) {
	blocks := open(t, folder(t, "planned.cx"))
	expected := dumped(t, "planned.txt")
	infos, err := blocks.Infos()
	if err != nil || len(infos) != 1 || int(infos[0].Series) != len(expected) || infos[0].HasTime {
		t.Fatal(infos, err)
	}
	reader, err := blocks.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// One behind the last has no labels.
	ids := []SeriesID{{infos[0].ID, 779}, {infos[0].ID, 0}, {infos[0].ID, 780}, {infos[0].ID, 400}}
	batch, err := reader.Labels(ids)
	if err != nil || batch.Len() != len(ids) || batch.AllIDs() != nil {
		t.Fatal(batch, err)
	}
	for i, id := range ids {
		var labels []Label
		batch.EachLabel(i, func(name, value string) { labels = append(labels, Label{name, value}) })
		if id.Series == 780 && len(labels) == 0 {
			continue
		}
		if len(labels) != batch.LabelCount(i) || text(labels) != expected[id.Series] {
			t.Fatal(id.Series, text(labels))
		}
	}
}

func TestSeriesAreCountedByLabels(t *testing.T) {
	querier := everything(open(t, folder(t, "plain-bitpacked.cx", "read-only.cx", "planned-small.cx")))
	expected := map[string]uint64{}
	for series := querier.Select(context.Background(), true); series.Next(); {
		var by []Label
		for _, label := range series.At().Labels {
			if label.Name == "__name__" || label.Name == "job" {
				by = append(by, label)
			}
		}
		expected[text(by)]++
	}
	groups, _, err := querier.CountBy(context.Background(), []string{"job", "__name__"})
	if err != nil || len(groups) != len(expected) || len(groups) < 2 {
		t.Fatal(groups, err)
	}
	for _, group := range groups {
		if group.Series != expected[text(group.Labels)] {
			t.Fatal(group)
		}
	}
}
