// Selects series with Prometheus, so that its answers can be compared with those of other programs.
//
//	go run . series.jsonl selectors.jsonl > answers.jsonl
//
// A line of the first file is an object of labels, a line of the second a selector with its case. A line of the output
// has the numbers of the matching series, from 0, or the error of a selector that Prometheus refuses.
//
// Each selector is evaluated three times: by matching each series, by the postings of a head, and by the postings of a
// block. The program fails if the answers differ.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Time of the only sample of each series.
const sampleTime = 1_700_000_000_000

type matcher struct{ Name, Op, Value string }

type selector struct {
	Case     string
	Matchers []matcher
}

type answer struct {
	Case   string `json:"case"`
	Series []int  `json:"series"`
	Error  string `json:"error,omitempty"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: matchers SERIES SELECTORS")
	}
	series := readLabels(os.Args[1])
	folder, err := os.MkdirTemp("", "matchers")
	check(err)
	defer os.RemoveAll(folder)
	head, closeHead := fillHead(series, filepath.Join(folder, "head"))
	defer closeHead()
	block, closeBlock := fillBlock(series, filepath.Join(folder, "block"))
	defer closeBlock()
	numbers := make(map[string]int)
	for number, labels := range series {
		numbers[labels.String()] = number
	}
	if len(numbers) != len(series) {
		log.Fatalf("%s has series twice", os.Args[1])
	}

	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, selector := range readLines[selector](os.Args[2]) {
		matchers, err := selector.matchers()
		if err != nil {
			check(encoder.Encode(answer{Case: selector.Case, Error: err.Error()}))
			continue
		}
		matched := match(series, matchers)
		for way, queryable := range map[string]storage.Querier{"head": head, "block": block} {
			if found := query(queryable, numbers, matchers); !slices.Equal(matched, found) {
				log.Fatalf("%s: %v matches series %v, and the %s selects %v", selector.Case, matchers, matched, way, found)
			}
		}
		check(encoder.Encode(answer{Case: selector.Case, Series: matched}))
	}
	check(out.Flush())
}

func readLines[T any](path string) []T {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	var lines []T
	decoder := json.NewDecoder(file)
	for {
		var line T
		if err := decoder.Decode(&line); err == io.EOF {
			return lines
		} else if err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		lines = append(lines, line)
	}
}

func readLabels(path string) []labels.Labels {
	var series []labels.Labels
	for _, line := range readLines[map[string]string](path) {
		series = append(series, labels.FromMap(line))
	}
	return series
}

func (s selector) matchers() ([]*labels.Matcher, error) {
	kinds := map[string]labels.MatchType{
		"=": labels.MatchEqual, "!=": labels.MatchNotEqual, "=~": labels.MatchRegexp, "!~": labels.MatchNotRegexp,
	}
	var matchers []*labels.Matcher
	for _, m := range s.Matchers {
		kind, known := kinds[m.Op]
		if !known {
			return nil, fmt.Errorf("unknown operator %q", m.Op)
		}
		matcher, err := labels.NewMatcher(kind, m.Name, m.Value)
		if err != nil {
			return nil, err
		}
		matchers = append(matchers, matcher)
	}
	return matchers, nil
}

// match returns the numbers of the series that all matchers match, label by label.
func match(series []labels.Labels, matchers []*labels.Matcher) []int {
	found := []int{}
	for number, labels := range series {
		matches := true
		for _, matcher := range matchers {
			matches = matches && matcher.Matches(labels.Get(matcher.Name))
		}
		if matches {
			found = append(found, number)
		}
	}
	return found
}

// query returns the numbers of the series that a querier selects.
func query(querier storage.Querier, numbers map[string]int, matchers []*labels.Matcher) []int {
	found := []int{}
	set := querier.Select(context.Background(), false, nil, matchers...)
	for set.Next() {
		number, known := numbers[set.At().Labels().String()]
		if !known {
			log.Fatalf("unknown series %s", set.At().Labels())
		}
		found = append(found, number)
	}
	check(set.Err())
	slices.Sort(found)
	return found
}

func appendAll(appender storage.Appender, series []labels.Labels) {
	for _, labels := range series {
		_, err := appender.Append(0, labels, sampleTime, 1)
		check(err)
	}
	check(appender.Commit())
}

func fillHead(series []labels.Labels, folder string) (storage.Querier, func()) {
	options := tsdb.DefaultHeadOptions()
	options.ChunkDirRoot = folder
	head, err := tsdb.NewHead(nil, nil, nil, nil, options, nil)
	check(err)
	check(head.Init(0))
	appendAll(head.Appender(context.Background()), series)
	querier, err := tsdb.NewBlockQuerier(tsdb.NewRangeHead(head, sampleTime, sampleTime), sampleTime, sampleTime)
	check(err)
	return querier, func() { check(querier.Close()); check(head.Close()) }
}

func fillBlock(series []labels.Labels, folder string) (storage.Querier, func()) {
	logger := slog.New(slog.DiscardHandler)
	writer, err := tsdb.NewBlockWriter(logger, folder, tsdb.DefaultBlockDuration)
	check(err)
	appendAll(writer.Appender(context.Background()), series)
	id, err := writer.Flush(context.Background())
	check(err)
	check(writer.Close())
	block, err := tsdb.OpenBlock(logger, filepath.Join(folder, id.String()), nil, nil)
	check(err)
	querier, err := tsdb.NewBlockQuerier(block, sampleTime, sampleTime)
	check(err)
	return querier, func() { check(querier.Close()); check(block.Close()) }
}
