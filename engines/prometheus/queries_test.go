package prometheus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

// selector returns a random selector that does not match every series, which PromQL refuses.
func (w *world) selector() string {
	texts := []string{`__name__!=""`}
	for _, matcher := range w.matchers() {
		texts = append(texts, matcher.String())
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// expression returns a random expression.
func (w *world) expression() string {
	pick := func(all ...string) string { return all[w.random.IntN(len(all))] }
	span := func() string { return pick("1m", "5m", "17m", "1h", "3h") }
	over := func() string {
		function := pick("rate", "increase", "delta", "changes", "resets", "avg_over_time", "max_over_time",
			"count_over_time", "last_over_time", "present_over_time", "stddev_over_time", "irate")
		return fmt.Sprintf("%s(%s[%s])", function, w.selector(), span())
	}
	by := func() string {
		return pick("", ` by (job)`, ` by (pod, le)`, ` without (pod)`, ` by ("größe")`, ` without ("a.b", job)`)
	}
	switch w.random.IntN(12) {
	case 0:
		return w.selector()
	case 1:
		return over()
	case 2, 3:
		return pick("sum", "count", "avg", "max", "min", "group", "stdvar") + by() + "(" + over() + ")"
	case 4:
		return fmt.Sprintf("topk%s(3, %s)", by(), w.selector())
	case 5:
		return fmt.Sprintf("%s offset %s", w.selector(), pick("5m", "-5m", "2h"))
	case 6:
		return fmt.Sprintf("histogram_quantile(0.9, sum%s(rate(%s[%s])))", by(), w.selector(), span())
	case 7:
		// Not absent: its labels depend on the order of the matchers, which tsdb's queriers change.
		return fmt.Sprintf("%s(%s)", pick("histogram_count", "histogram_sum", "timestamp", "sort", "abs"), w.selector())
	case 8:
		return fmt.Sprintf("%s %s %s", w.selector(), pick("or", "and", "unless"), w.selector())
	case 9:
		return fmt.Sprintf("sum by (job)(%s) / on (job) group_left count by (job)(%s)", over(), w.selector())
	case 10:
		return fmt.Sprintf("%s(%s[%s:%s])", pick("max_over_time", "sum_over_time"), over(), span(), pick("1m", "7m"))
	}
	return fmt.Sprintf("%s @ %d", w.selector(), (w.start+int64(w.random.IntN(int(w.end-w.start))))/1000)
}

// inOrder selects series in the order of labels, as blocks of Prometheus always do. Sums of floats, and warnings of mixed
// values, depend on it.
type inOrder struct{ *Queryable }

func (q inOrder) Querier(mint, maxt int64) (storage.Querier, error) {
	querier, err := q.Queryable.Querier(mint, maxt)
	return inOrderQuerier{querier}, err
}

type inOrderQuerier struct{ storage.Querier }

func (q inOrderQuerier) Select(
	ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, matchers...)
}

// Random queries have the answers, errors and warnings that they have on Prometheus's own blocks.
func TestQueriesAreThoseOfPrometheus(t *testing.T) {
	command(t, "chronoxide-ingest")
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	ctx := context.Background()
	seeds(t, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		ours, original := open(t, convert(t, w.data), w.data), openOracle(t, w.data)
		for range 60 {
			text := w.expression()
			start := time.UnixMilli(w.start + int64(w.random.IntN(int(w.end-w.start))))
			end, step := start.Add(time.Duration(w.random.IntN(7200))*time.Second), time.Duration(1+w.random.IntN(900))*time.Second
			question := fmt.Sprintf("%s from %s to %s by %s", text, start, end, step)
			panicked := false
			var answers [2][]string
			for i, queryable := range []storage.Queryable{inOrder{ours}, original} {
				answers[i] = panicking(i == 1, &panicked, func() []string {
					query, err := engine.NewRangeQuery(ctx, queryable, promql.NewPrometheusQueryOpts(false, 0), text, start, end, step)
					if err != nil {
						t.Fatal(question, err)
					}
					defer query.Close()
					result := query.Exec(ctx)
					answer := []string{fmt.Sprint(result.Err)}
					if result.Err == nil {
						answer = append(answer, strings.Split(result.Value.String(), "\n")...)
					}
					warnings := result.Warnings.AsErrors()
					for _, warning := range warnings {
						answer = append(answer, warning.Error())
					}
					slices.Sort(answer[len(answer)-len(warnings):])
					return answer
				})
				// The engine reports a panic of the storage as an error.
				if i == 1 && strings.Contains(answers[1][0], "unexpected error: runtime error") {
					panicked = true
				}
			}
			if !panicked {
				same(t, question, answers[0], answers[1])
			}
		}
	})
}
