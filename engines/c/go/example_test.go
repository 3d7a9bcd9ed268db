package chronoxide_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"chronoxide"
)

// The loop of a query engine: series of all blocks of a folder, in the order of their labels, with the ids by which
// the engine finds samples.
func Example() {
	blocks, warnings, err := chronoxide.Open("../../../testdata/golden")
	if err != nil {
		log.Fatal(err)
	}
	defer blocks.Close()
	for _, warning := range warnings {
		log.Print(warning)
	}

	querier := blocks.Querier(math.MinInt64, math.MaxInt64)
	querier.MaxSeries = 1_000_000
	up := chronoxide.Matcher{Type: chronoxide.MatchEqual, Name: "__name__", Value: "up"}
	pods := chronoxide.Matcher{Type: chronoxide.MatchRegexp, Name: "pod", Value: "(api|db)-1"}
	ours := chronoxide.Matcher{Type: chronoxide.MatchNotEqual, Name: "job", Value: ""}

	series := querier.Select(context.Background(), true, up, pods, ours)
	for series.Next() {
		found := series.At()
		for _, id := range found.IDs {
			_ = id // The engine reads the samples of series id.Series of block id.Block.
		}
		fmt.Println(found.Labels)
	}
	if err := series.Err(); err != nil {
		log.Fatal(err)
	}

	jobs, _, err := querier.LabelValues(context.Background(), "job", up)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(jobs)
	// Output:
	// [{__name__ up} {job api} {pod api-1}]
	// [{__name__ up} {job db} {pod db-1}]
	// [api db]
}

// Values that an engine keeps of each series, read for many ids at once.
func ExampleColumn() {
	blocks, _, err := chronoxide.Open("../../../testdata/golden/columns.cx")
	if err != nil {
		log.Fatal(err)
	}
	defer blocks.Close()
	series := blocks.Querier(math.MinInt64, math.MaxInt64).Select(context.Background(), true)
	var ids []chronoxide.SeriesID
	for series.Next() {
		ids = append(ids, series.At().IDs...)
	}

	firstTime, err := blocks.Column("chronoxide.first_time")
	if err != nil || firstTime == nil {
		log.Fatal("no block has the column, or: ", err)
	}
	defer firstTime.Close()
	times, present := make([]int64, len(ids)), make([]bool, len(ids))
	if err := firstTime.ReadInt64(ids, times, present); err != nil {
		log.Fatal(err)
	}
	for i, id := range ids[:3] {
		fmt.Println(id.Series, times[i], present[i])
	}
	// Output:
	// 1 1700000040000000000 true
	// 3 1700005440000000000 true
	// 0 1700000040000000000 true
}
