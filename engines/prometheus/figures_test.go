package prometheus

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"chronoxide"
)

// The benchmarks compare with Prometheus's own blocks in one run: ours/... and prometheus/... of each. They need a data
// folder, and its converted labels: CHRONOXIDE_BENCH_DATA and CHRONOXIDE_BENCH_LABELS.

type contender struct {
	name      string
	queryable storage.SampleAndChunkQueryable
}

func contenders(b *testing.B) []contender {
	data, labels := os.Getenv("CHRONOXIDE_BENCH_DATA"), os.Getenv("CHRONOXIDE_BENCH_LABELS")
	if data == "" || labels == "" {
		b.Skip("CHRONOXIDE_BENCH_DATA and CHRONOXIDE_BENCH_LABELS name no folders")
	}
	return []contender{{"ours", open(b, labels, data)}, {"prometheus", openOracle(b, data)}}
}

// question is a selector with a name that says what it shows.
type question struct {
	name     string
	matchers []*labels.Matcher
}

// questions makes selectors of the names and values of the data.
func questions(b *testing.B, queryable storage.Queryable) []question {
	querier, err := queryable.Querier(minTime, maxTime)
	if err != nil {
		b.Fatal(err)
	}
	defer querier.Close()
	ctx := context.Background()
	values := func(name string, matchers ...*labels.Matcher) []string {
		found, _, err := querier.LabelValues(ctx, name, nil, matchers...)
		if err != nil || len(found) == 0 {
			b.Fatal(name, err)
		}
		return slices.Clone(found)
	}
	count := func(matchers ...*labels.Matcher) (seen int) {
		set := querier.Select(ctx, false, &storage.SelectHints{Start: minTime, End: maxTime, Func: "series"}, matchers...)
		for set.Next() {
			seen++
		}
		return seen
	}
	match := labels.MustNewMatcher
	type sized struct {
		name string
		size int
	}
	// Series of the workload have names of OpenTelemetry, those of captures have Prometheus's.
	namespace, pod := "k8s.namespace.name", "k8s.pod.name"
	if count(match(labels.MatchNotEqual, pod, "")) == 0 {
		namespace, pod = "namespace", "pod"
	}
	var metrics []sized
	for _, name := range values("__name__", match(labels.MatchNotEqual, pod, "")) {
		metrics = append(metrics, sized{name, count(match(labels.MatchEqual, "__name__", name))})
	}
	slices.SortFunc(metrics, func(left, right sized) int { return right.size - left.size })
	large := match(labels.MatchEqual, "__name__", metrics[0].name)
	middle := match(labels.MatchEqual, "__name__", metrics[len(metrics)/2].name)
	namespaces, pods := values(namespace, large), values(pod, large)
	one := pods[len(pods)/2]
	return []question{
		{"large", []*labels.Matcher{large}},
		{"middle", []*labels.Matcher{middle}},
		{"large+namespace", []*labels.Matcher{large, match(labels.MatchEqual, namespace, namespaces[len(namespaces)/2])}},
		{"large+pod", []*labels.Matcher{large, match(labels.MatchEqual, pod, one)}},
		{"pod", []*labels.Matcher{match(labels.MatchEqual, pod, one)}},
		{"large+regex", []*labels.Matcher{large, match(labels.MatchRegexp, pod, one[:3]+".*")}},
		{"large+infix", []*labels.Matcher{large, match(labels.MatchRegexp, pod, ".*"+one[2:5]+".*")}},
		{"large+negation", []*labels.Matcher{large, match(labels.MatchNotEqual, pod, one)}},
	}
}

// Select until the last series is labelled, and its chunks are listed.
func BenchmarkSelect(b *testing.B) {
	all := contenders(b)
	for _, question := range questions(b, all[0].queryable) {
		for _, one := range all {
			b.Run(fmt.Sprintf("%s/%s", question.name, one.name), func(b *testing.B) {
				seen := 0
				for b.Loop() {
					querier, err := one.queryable.ChunkQuerier(minTime, maxTime)
					if err != nil {
						b.Fatal(err)
					}
					seen = 0
					set := querier.Select(context.Background(), false, nil, slices.Clone(question.matchers)...)
					for set.Next() {
						_ = set.At().Labels()
						seen++
					}
					if set.Err() != nil {
						b.Fatal(set.Err())
					}
					querier.Close()
				}
				b.ReportMetric(float64(seen), "series")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(seen, 1)), "ns/series")
			})
		}
	}
}

// Select without files in memory: the time to open them counts. Needs the right to drop the page cache.
func BenchmarkCold(b *testing.B) {
	all := contenders(b)
	data, converted := os.Getenv("CHRONOXIDE_BENCH_DATA"), os.Getenv("CHRONOXIDE_BENCH_LABELS")
	asked := questions(b, all[0].queryable)
	all[0].queryable.(*Queryable).Close()
	for _, block := range all[1].queryable.(oracle) {
		block.Close()
	}
	for _, question := range asked {
		for _, name := range []string{"ours", "prometheus"} {
			b.Run(fmt.Sprintf("%s/%s", question.name, name), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0); err != nil {
						b.Skip(err)
					}
					b.StartTimer()
					var queryable storage.ChunkQueryable
					if name == "ours" {
						queryable = open(b, converted, data)
					} else {
						queryable = openOracle(b, data)
					}
					querier, err := queryable.ChunkQuerier(minTime, maxTime)
					if err != nil {
						b.Fatal(err)
					}
					set := querier.Select(context.Background(), false, nil, slices.Clone(question.matchers)...)
					for set.Next() {
						_ = set.At().Labels()
					}
					if set.Err() != nil {
						b.Fatal(set.Err())
					}
					querier.Close()
					b.StopTimer()
					if ours, ok := queryable.(*Queryable); ok {
						ours.Close()
					} else {
						for _, block := range queryable.(oracle) {
							block.Close()
						}
					}
					b.StartTimer()
				}
			})
		}
	}
}

// The series API: sorted, without samples.
func BenchmarkSeries(b *testing.B) {
	all := contenders(b)
	for _, question := range questions(b, all[0].queryable) {
		for _, one := range all {
			b.Run(fmt.Sprintf("%s/%s", question.name, one.name), func(b *testing.B) {
				for b.Loop() {
					querier, err := one.queryable.Querier(minTime, maxTime)
					if err != nil {
						b.Fatal(err)
					}
					hints := &storage.SelectHints{Start: minTime, End: maxTime, Func: "series"}
					set := querier.Select(context.Background(), true, hints, slices.Clone(question.matchers)...)
					for set.Next() {
						_ = set.At().Labels()
					}
					if set.Err() != nil {
						b.Fatal(set.Err())
					}
					querier.Close()
				}
			})
		}
	}
}

func BenchmarkLabelValues(b *testing.B) {
	all := contenders(b)
	for _, question := range questions(b, all[0].queryable) {
		for _, name := range []string{"k8s.pod.name", "pod", "__name__"} {
			for _, one := range all {
				b.Run(fmt.Sprintf("%s of %s/%s", name, question.name, one.name), func(b *testing.B) {
					for b.Loop() {
						querier, err := one.queryable.Querier(minTime, maxTime)
						if err != nil {
							b.Fatal(err)
						}
						if _, _, err := querier.LabelValues(context.Background(), name, nil, slices.Clone(question.matchers)...); err != nil {
							b.Fatal(err)
						}
						querier.Close()
					}
				})
			}
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	contenders(b)
	data, labels := os.Getenv("CHRONOXIDE_BENCH_DATA"), os.Getenv("CHRONOXIDE_BENCH_LABELS")
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			queryable, _, err := Open(labels, data, Options{})
			if err != nil {
				b.Fatal(err)
			}
			queryable.Close()
		}
	})
	b.Run("prometheus", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, block := range openOracle(b, data) {
				block.Close()
			}
		}
	})
}

// A call of C, which the 128 series of a batch share.
func BenchmarkCrossing(b *testing.B) {
	contenders(b)
	blocks, _, err := chronoxide.Open(os.Getenv("CHRONOXIDE_BENCH_LABELS"))
	if err != nil {
		b.Fatal(err)
	}
	defer blocks.Close()
	reader, err := blocks.Reader()
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	for b.Loop() {
		if _, err := reader.Labels(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// PromQL end to end, over the last two hours and over all times.
func BenchmarkPromQL(b *testing.B) {
	all := contenders(b)
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1 << 30, Timeout: time.Hour, Parser: parser.NewParser(parser.Options{}),
	})
	metas, err := all[0].queryable.(*Queryable).BlockMetas()
	if err != nil {
		b.Fatal(err)
	}
	end := time.UnixMilli(metas[len(metas)-1].MaxTime)
	for _, span := range []struct {
		name  string
		start time.Time
		step  time.Duration
	}{
		{"2h", end.Add(-2 * time.Hour), time.Minute},
		{"all", time.UnixMilli(metas[0].MinTime), time.Hour},
	} {
		for _, question := range questions(b, all[0].queryable)[:2] {
			text := fmt.Sprintf(`sum by ("k8s.namespace.name", namespace) (rate({"__name__"=%q}[5m]))`, question.matchers[0].Value)
			answers := map[string]string{}
			for _, one := range all {
				b.Run(fmt.Sprintf("%s %s/%s", question.name, span.name, one.name), func(b *testing.B) {
					for b.Loop() {
						query, err := engine.NewRangeQuery(context.Background(), one.queryable, nil, text, span.start, end, span.step)
						if err != nil {
							b.Fatal(err)
						}
						result := query.Exec(context.Background())
						if result.Err != nil {
							b.Fatal(result.Err)
						}
						answers[one.name] = result.String()
						query.Close()
					}
				})
			}
			if answers["ours"] != answers["prometheus"] {
				b.Fatal("the answers differ")
			}
		}
	}
}
