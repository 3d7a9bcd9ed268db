// Times selectors on the postings of a Prometheus block.
//
//	chronoxide-inspect series BLOCK --format series-json | go run . build DIR
//	go run . time DIR [SELECTORS]
//
// `build` writes a block of the series, each with one sample, into a new folder. `time` reads selectors, one per line,
// and prints the least and the median time of each until the last series ref is listed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/index"
)

const (
	// Time of the only sample of each series.
	sampleTime = 1_700_000_000_000
	// Series between two commits, so that a commit stays small.
	batch = 10_000
	// A selector is repeated for this long, and at least minRuns times.
	minTime = 500 * time.Millisecond
	minRuns = 7
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 3 && os.Args[1] == "build":
		build(os.Args[2])
	case (len(os.Args) == 3 || len(os.Args) == 4) && os.Args[1] == "time":
		selectors := "selectors.txt"
		if len(os.Args) == 4 {
			selectors = os.Args[3]
		}
		timeAll(os.Args[2], selectors)
	default:
		log.Fatal("usage: postings build DIR < SERIES | postings time DIR [SELECTORS]")
	}
}

func build(folder string) {
	check(os.Mkdir(folder, 0o755))
	ctx := context.Background()
	writer, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), folder, tsdb.DefaultBlockDuration)
	check(err)
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	for isLast := false; !isLast; {
		appender := writer.Appender(ctx)
		for range batch {
			var line map[string]string
			if err := decoder.Decode(&line); err == io.EOF {
				isLast = true
				break
			} else {
				check(err)
			}
			_, err = appender.Append(0, labels.FromMap(line), sampleTime, 1)
			check(err)
		}
		check(appender.Commit())
	}
	id, err := writer.Flush(ctx)
	check(err)
	check(writer.Close())
	fmt.Println(filepath.Join(folder, id.String()))
}

func timeAll(folder, path string) {
	block := openOnly(folder)
	defer block.Close()
	reader, err := block.Index()
	check(err)
	defer reader.Close()
	text, err := os.ReadFile(path)
	check(err)
	parse := parser.NewParser(parser.Options{})
	fmt.Printf("%12s %12s %9s  selector\n", "ns, least", "ns, median", "series")
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		matchers, err := parse.ParseMetricSelector(string(line))
		if err != nil {
			log.Fatalf("%s: %v", line, err)
		}
		least, median, count := timeSelector(reader, matchers)
		fmt.Printf("%12d %12d %9d  %s\n", least.Nanoseconds(), median.Nanoseconds(), count, line)
	}
}

func openOnly(folder string) *tsdb.Block {
	found, err := filepath.Glob(filepath.Join(folder, "*", "meta.json"))
	check(err)
	if len(found) != 1 {
		log.Fatalf("%s has %d blocks, expected one", folder, len(found))
	}
	block, err := tsdb.OpenBlock(slog.New(slog.DiscardHandler), filepath.Dir(found[0]), nil, nil)
	check(err)
	return block
}

// timeSelector returns the least and the median time until all refs are listed, and their number. Matchers are
// compiled before.
func timeSelector(reader tsdb.IndexReader, matchers []*labels.Matcher) (least, median time.Duration, count int) {
	var times []time.Duration
	for started := time.Now(); len(times) < minRuns || time.Since(started) < minTime; {
		before := time.Now()
		postings, err := tsdb.PostingsForMatchers(context.Background(), reader, matchers...)
		check(err)
		refs, err := index.ExpandPostings(postings)
		check(err)
		times = append(times, time.Since(before))
		count = len(refs)
	}
	slices.Sort(times)
	return times[0], times[len(times)/2], count
}
