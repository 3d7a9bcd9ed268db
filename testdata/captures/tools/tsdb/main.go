// Writes a data folder with Prometheus's own TSDB, and lists the series of any data folder with it.
//
//	go run . write DIR [none|snappy|zstd] [st] [deleted]
//	go run . list DIR > series.jsonl
//	go run . samples DIR
//
// `write` appends seven hours of samples, compacts as a server does, and leaves the last hours in the write-ahead log. `list`
// opens a copy, because opening a folder changes it. `samples` counts the samples of the logs.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
)

const (
	// A multiple of two hours, so that blocks begin here.
	start = int64(1_699_999_200_000)
	step  = int64(time.Minute / time.Millisecond)
	hour  = int64(time.Hour / time.Millisecond)
	// Compacted like a server would: the head keeps at least three hours.
	hours = 7
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: tsdb write|list|samples DIR")
	}
	switch os.Args[1] {
	case "write":
		write(os.Args[2], os.Args[3:])
	case "list":
		list(os.Args[2])
	case "samples":
		samples(os.Args[2])
	default:
		log.Fatalf("unknown command %q", os.Args[1])
	}
}

type series struct {
	labels labels.Labels
	// Times in milliseconds after the start; the end is not included.
	from, to int64
	metadata metadata.Metadata
	append   func(app storage.Appender, l labels.Labels, t int64) error
}

func float(app storage.Appender, l labels.Labels, t int64) error {
	_, err := app.Append(0, l, t, float64(t%1000))
	return err
}

func integerHistogram(app storage.Appender, l labels.Labels, t int64) error {
	_, err := app.AppendHistogram(0, l, t, tsdbutil.GenerateTestHistogram(t/step), nil)
	return err
}

func floatHistogram(app storage.Appender, l labels.Labels, t int64) error {
	_, err := app.AppendHistogram(0, l, t, nil, tsdbutil.GenerateTestFloatHistogram(t/step))
	return err
}

func customBuckets(app storage.Appender, l labels.Labels, t int64) error {
	_, err := app.AppendHistogram(0, l, t, tsdbutil.GenerateTestCustomBucketsHistogram(t/step), nil)
	return err
}

func customBucketsFloat(app storage.Appender, l labels.Labels, t int64) error {
	_, err := app.AppendHistogram(0, l, t, nil, tsdbutil.GenerateTestCustomBucketsFloatHistogram(t/step))
	return err
}

func all() []series {
	var out []series
	add := func(from, to int64, m metadata.Metadata, a func(storage.Appender, labels.Labels, int64) error, pairs ...string) {
		out = append(out, series{labels.FromStrings(pairs...), from, to, m, a})
	}
	gauge := metadata.Metadata{Type: model.MetricTypeGauge, Help: "Whether the target is up."}
	counter := metadata.Metadata{Type: model.MetricTypeCounter, Help: "Requests with \"quotes\" and é."}
	seconds := metadata.Metadata{Type: model.MetricTypeHistogram, Unit: "seconds", Help: "Latency."}
	end := hours * hour
	for _, instance := range []string{"a:9090", "b:9090", "é\n\"\\:9090"} {
		add(0, end, gauge, float, "__name__", "up", "job", "api", "instance", instance)
		for _, code := range []string{"200", "404", "500"} {
			add(0, end, counter, float, "__name__", "requests_total", "job", "api", "instance", instance, "code", code)
		}
		add(0, end, seconds, integerHistogram, "__name__", "latency_seconds", "job", "api", "instance", instance)
	}
	for _, le := range []string{"0.1", "1.0", "+Inf"} {
		add(0, end, seconds, float, "__name__", "classic_seconds_bucket", "job", "api", "le", le)
	}
	add(0, end, seconds, float, "__name__", "classic_seconds_sum", "job", "api")
	add(0, end, seconds, float, "__name__", "classic_seconds_count", "job", "api")
	add(0, end, seconds, floatHistogram, "__name__", "float_seconds", "job", "api")
	add(hour, end, seconds, customBuckets, "__name__", "custom_seconds", "job", "api")
	add(hour, end, seconds, customBucketsFloat, "__name__", "custom_float_seconds", "job", "api")
	add(0, end, metadata.Metadata{}, float, "__name__", "http.requests", "service.name", "cart")
	// Pods that come and go, one per half hour.
	for pod := int64(0); pod < 2*hours; pod++ {
		from := pod * hour / 2
		add(from, from+hour/2, gauge, float, "__name__", "pod_up", "pod", fmt.Sprintf("pod-%02d", pod))
	}
	return out
}

func options() *tsdb.Options {
	options := tsdb.DefaultOptions()
	options.WALSegmentSize = 32 * 1024
	options.OutOfOrderTimeWindow = hour
	options.RetentionDuration = math.MaxInt64 / 2
	options.EnableMetadataWALRecords = true
	return options
}

func write(dir string, flags []string) {
	options := options()
	deletes := false
	for _, flag := range flags {
		switch flag {
		case "none", "snappy", "zstd":
			options.WALCompression = compression.Type(flag)
		case "st":
			options.EnableSTStorage = true
		case "deleted":
			deletes = true
		default:
			log.Fatalf("unknown flag %q", flag)
		}
	}
	db, err := tsdb.Open(dir, nil, nil, options, nil)
	check(err)
	db.DisableCompactions()
	ctx := context.Background()
	all := all()
	for t := int64(0); t < hours*hour; t += step {
		app := db.Appender(ctx)
		for _, s := range all {
			if t < s.from || t >= s.to {
				continue
			}
			check(s.append(app, s.labels, start+t))
			if (t == 0 || t == s.from) && s.metadata != (metadata.Metadata{}) {
				_, err := app.UpdateMetadata(0, s.labels, s.metadata)
				check(err)
			}
		}
		check(app.Commit())
		if t%hour == 0 && t > 0 {
			late(ctx, db, t)
			db.EnableCompactions()
			check(db.Compact(ctx))
			db.DisableCompactions()
		}
	}
	// This one stays in the log of out-of-order samples.
	late(ctx, db, hours*hour)
	if deletes {
		deleteSome(ctx, db)
	}
	check(db.Close())
}

// Deletes series wholly and in part, in blocks and in the head.
func deleteSome(ctx context.Context, db *tsdb.DB) {
	for _, one := range []struct {
		from, to    int64
		name, value string
	}{
		{math.MinInt64, math.MaxInt64, "instance", "a:9090"},
		{start, start + 3*hour, "code", "404"},
		{start + 5*hour, start + 10*hour, "code", "500"},
		{math.MinInt64, math.MaxInt64, "pod", "pod-13"},
		{math.MinInt64, math.MaxInt64, "pod", "pod-03"},
		{math.MinInt64, start + hour + hour/2 + 10*step, "pod", "pod-04"},
		{start + hour/2, start + hour - 1, "pod", "pod-01"},
		{math.MinInt64, math.MaxInt64, "service.name", "cart"},
		{math.MinInt64, math.MaxInt64, "hour", "3"},
		{math.MinInt64, math.MaxInt64, "hour", "7"},
	} {
		check(db.Delete(ctx, one.from, one.to, labels.MustNewMatcher(labels.MatchEqual, one.name, one.value)))
	}
}

// Appends samples out of order: 25 minutes late, of a series that has no other samples.
func late(ctx context.Context, db *tsdb.DB, t int64) {
	app := db.Appender(ctx)
	late := labels.FromStrings("__name__", "late", "hour", fmt.Sprint(t/hour))
	for _, t := range []int64{t, t - 25*step} {
		_, err := app.Append(0, late, start+t, 1)
		check(err)
	}
	check(app.Commit())
}

type listed struct {
	Labels  map[string]string `json:"labels"`
	First   int64             `json:"first"`
	Last    int64             `json:"last"`
	Samples int               `json:"samples"`
}

func list(dir string) {
	copied, err := os.MkdirTemp("", "tsdb-list-")
	check(err)
	defer os.RemoveAll(copied)
	check(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		check(err)
		name, err := filepath.Rel(dir, path)
		check(err)
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(copied, name), 0o777)
		}
		if strings.HasPrefix(entry.Name(), "lock") || entry.Name() == "queries.active" {
			return nil
		}
		content, err := os.ReadFile(path)
		check(err)
		return os.WriteFile(filepath.Join(copied, name), content, 0o666)
	}))
	db, err := tsdb.Open(copied, nil, nil, options(), nil)
	check(err)
	db.DisableCompactions()
	querier, err := db.Querier(math.MinInt64, math.MaxInt64)
	check(err)
	set := querier.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".*"))
	out := []listed{}
	for set.Next() {
		one := listed{Labels: set.At().Labels().Map()}
		iterator := set.At().Iterator(nil)
		for iterator.Next() != chunkenc.ValNone {
			t := iterator.AtT()
			if one.Samples == 0 {
				one.First = t
			}
			one.Last = t
			one.Samples++
		}
		check(iterator.Err())
		if one.Samples > 0 {
			out = append(out, one)
		}
	}
	check(set.Err())
	sort.Slice(out, func(i, j int) bool {
		return labels.Compare(labels.FromMap(out[i].Labels), labels.FromMap(out[j].Labels)) < 0
	})
	encoder := json.NewEncoder(os.Stdout)
	for _, one := range out {
		check(encoder.Encode(one))
	}
	check(querier.Close())
	check(db.Close())
}

func samples(dir string) {
	var segments []wlog.SegmentRange
	wal := filepath.Join(dir, "wal")
	checkpoint, after, err := wlog.LastCheckpoint(wal)
	if err == nil {
		segments = append(segments, wlog.SegmentRange{Dir: checkpoint, First: -1, Last: -1})
	} else {
		after = -1
	}
	segments = append(segments, wlog.SegmentRange{Dir: wal, First: after + 1, Last: -1})
	if _, err := os.Stat(filepath.Join(dir, "wbl")); err == nil {
		segments = append(segments, wlog.SegmentRange{Dir: filepath.Join(dir, "wbl"), First: -1, Last: -1})
	}
	count := 0
	decoder := record.NewDecoder(nil, slog.New(slog.DiscardHandler))
	for _, segments := range segments {
		opened, err := wlog.NewSegmentsRangeReader(segments)
		check(err)
		reader := wlog.NewReader(opened)
		for reader.Next() {
			switch found := reader.Record(); decoder.Type(found) {
			case record.Samples, record.SamplesV2:
				decoded, err := decoder.Samples(found, nil)
				check(err)
				count += len(decoded)
			case record.HistogramSamples, record.CustomBucketsHistogramSamples, record.HistogramSamplesV2:
				decoded, err := decoder.HistogramSamples(found, nil)
				check(err)
				count += len(decoded)
			case record.FloatHistogramSamples, record.CustomBucketsFloatHistogramSamples, record.FloatHistogramSamplesV2:
				decoded, err := decoder.FloatHistogramSamples(found, nil)
				check(err)
				count += len(decoded)
			}
		}
		check(reader.Err())
		check(opened.Close())
	}
	fmt.Println(count)
}
