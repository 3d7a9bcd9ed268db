package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
	"go.yaml.in/yaml/v2"
)

// series are series in memory, in the order of their labels before any were dropped: sums of floats depend on it.
type series []storage.Series

func (s series) Querier(int64, int64) (storage.Querier, error) { return s, nil }

func (s series) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, one := range s {
		matches := true
		for _, matcher := range matchers {
			matches = matches && matcher.Matches(one.Labels().Get(matcher.Name))
		}
		if matches {
			set.series = append(set.series, one)
		}
	}
	return set
}

func (s series) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (s series) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (s series) Close() error { return nil }

type seriesSet struct {
	series series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// relabelled is a series with other labels.
type relabelled struct {
	storage.Series
	labels labels.Labels
}

func (r relabelled) Labels() labels.Labels { return r.labels }

func (r relabelled) Iterator(iterator chunkenc.Iterator) chunkenc.Iterator {
	return r.Series.Iterator(iterator)
}

// relabel applies the relabelling that `usage` prints, with Prometheus's own code.
func (s series) relabel(t *testing.T, text string) (series, int) {
	var configuration struct {
		Rules []*relabel.Config `yaml:"metric_relabel_configs"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &configuration); err != nil {
		t.Fatal(err, text)
	}
	for _, rule := range configuration.Rules {
		if err := rule.Validate(model.UTF8Validation); err != nil {
			t.Fatal(err, text)
		}
	}
	var kept series
	dropped, known := 0, map[string]bool{}
	for _, one := range s {
		builder := labels.NewBuilder(one.Labels())
		keep := relabel.ProcessBuilder(builder, configuration.Rules...)
		after := builder.Labels()
		if !keep {
			dropped++
			continue
		}
		dropped += one.Labels().Len() - after.Len()
		if known[after.String()] {
			t.Fatal("two series are equal: ", after, text)
		}
		known[after.String()] = true
		kept = append(kept, relabelled{one, after})
	}
	return kept, dropped
}

// named returns a random selector with the name of a metric.
func (w *world) named() string {
	name := w.series[w.random.IntN(len(w.series))].Get("__name__")
	if name == "" {
		return w.selector()
	}
	texts := []string{fmt.Sprintf("__name__=%q", name)}
	for _, matcher := range w.matchers() {
		texts = append(texts, matcher.String())
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// rewriting returns a random expression that replaces labels, or chooses series.
func (w *world) rewriting() string {
	switch w.random.IntN(8) {
	case 0:
		return fmt.Sprintf(`sum by (job)(label_replace(%s, "job", "$1", "pod", "(web-.*)"))`, w.named())
	case 1:
		return fmt.Sprintf(`count(label_replace(%s, "job", "x", "pod", ".*"))`, w.named())
	case 2:
		return fmt.Sprintf(`label_join(%s, "job", "-", "pod", "le")`, w.named())
	case 3:
		return fmt.Sprintf(`%s * on (job) group_left (pod) max by (job, pod) (%s)`, w.named(), w.named())
	case 4:
		return fmt.Sprintf(`sum by (pod) (%s) + on (pod) group_right () %s`, w.named(), w.named())
	case 5:
		return fmt.Sprintf("sum(rate({__name__=~%q}[17m]))", "a|up|web-1")
	case 6:
		return fmt.Sprintf(`count_values by (job) ("pod", %s)`, w.named())
	default:
		return fmt.Sprintf("%s(%s)", []string{"absent", "sum", "scalar", "count"}[w.random.IntN(4)], w.named())
	}
}

// Without the metrics and labels that `usage` calls unused, Prometheus's engine answers as before.
func TestAnswersNeedNothingThatIsUnused(t *testing.T) {
	command(t, "chronoxide-inspect")
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	ctx := context.Background()
	total := 0
	seeds(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		folder := convert(t, w.data)
		querier, err := openOracle(t, w.data).Querier(w.start, w.end)
		if err != nil {
			t.Fatal(err)
		}
		defer querier.Close()
		var all series
		set := querier.Select(ctx, true, nil, labels.MustNewMatcher(labels.MatchRegexp, "absent", ".*"))
		for set.Next() {
			all = append(all, set.At())
		}
		kept := ""
		for _, one := range all {
			if name := one.Labels().Get("__name__"); name != "" {
				kept = fmt.Sprintf("sum({__name__=%q})", name)
			}
		}
		if kept == "" {
			return
		}
		for range 8 {
			text := w.expression()
			if w.random.IntN(3) > 0 {
				text = w.rewriting()
			}
			file := filepath.Join(t.TempDir(), "queries.promql")
			// The last query keeps a metric: without any, there is no configuration.
			queries := text + "\n" + kept + "\n"
			if err := os.WriteFile(file, []byte(queries), 0o600); err != nil {
				t.Fatal(err)
			}
			rules := run(t, "chronoxide-inspect", "usage", folder, "--quiet", "--relabel", "prometheus", "--used", file)
			less, dropped := all.relabel(t, rules)
			total += dropped
			start := time.UnixMilli(w.start + int64(w.random.IntN(int(w.end-w.start))))
			var answers [2][]string
			for i, queryable := range []storage.Queryable{all, less} {
				options := promql.NewPrometheusQueryOpts(false, 0)
				query, err := engine.NewRangeQuery(ctx, queryable, options, text, start, start.Add(time.Hour), 5*time.Minute)
				if err != nil {
					t.Fatal(text, err)
				}
				result := query.Exec(ctx)
				answers[i] = []string{fmt.Sprint(result.Err)}
				if result.Err == nil {
					answers[i] = append(answers[i], strings.Split(result.Value.String(), "\n")...)
				}
				query.Close()
			}
			// An error names labels that may be gone.
			if answers[0][0] == "<nil>" {
				same(t, text+"\n"+rules, answers[1], answers[0])
			}
		}
	})
	if total == 0 {
		t.Fatal("nothing was unused")
	}
}

// canonical returns matchers as text, in one order.
func canonical(matchers []*labels.Matcher) string {
	var texts []string
	for _, matcher := range matchers {
		texts = append(texts, matcher.String())
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// The selectors that are found in a query are those of Prometheus's own parser.
func TestSelectorsAreThoseOfPrometheus(t *testing.T) {
	command(t, "chronoxide-inspect")
	block := filepath.Join(t.TempDir(), "a.cx")
	input := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(input, []byte(`{"no_query_selects":"it"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "chronoxide-ingest", "--quiet", input, "-o", block)
	promql := parser.NewParser(parser.Options{})
	seeds(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		for range 20 {
			text := w.expression()
			file := filepath.Join(t.TempDir(), "queries.promql")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			expression, err := promql.ParseExpr(text)
			if err != nil {
				t.Fatal(text, err)
			}
			expected := map[string]bool{}
			for _, matchers := range parser.ExtractSelectors(expression) {
				expected[canonical(matchers)] = true
			}
			found := map[string]bool{}
			figures := run(t, "chronoxide-inspect", "usage", block, "--quiet", "--json", "--used", file)
			var usage struct {
				Selectors []struct{ Selector string } `json:"without_series"`
			}
			if err := json.Unmarshal([]byte(figures), &usage); err != nil {
				t.Fatal(err)
			}
			for _, one := range usage.Selectors {
				matchers, err := promql.ParseMetricSelector(one.Selector)
				if err != nil {
					t.Fatal(one.Selector, err)
				}
				found[canonical(matchers)] = true
			}
			if fmt.Sprint(found) != fmt.Sprint(expected) {
				t.Fatalf("%s: found %v, expected %v", text, found, expected)
			}
		}
	})
}
