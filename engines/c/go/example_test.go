package chronoxide_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"chronoxide"
)

// The loop of a query engine: series of all blocks of a folder, in the order of their labels, with the refs by which
// the engine finds samples.
func Example() {
	set, warnings, err := chronoxide.OpenSet("../../../testdata/golden")
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	for _, warning := range warnings {
		log.Print(warning)
	}

	querier := set.Querier(math.MinInt64, math.MaxInt64)
	querier.MaxSeries = 1_000_000
	up := chronoxide.Matcher{Type: chronoxide.MatchEqual, Name: "__name__", Value: "up"}
	pods := chronoxide.Matcher{Type: chronoxide.MatchRegexp, Name: "pod", Value: "(api|db)-1"}
	ours := chronoxide.Matcher{Type: chronoxide.MatchNotEqual, Name: "job", Value: ""}

	series := querier.Select(context.Background(), up, pods, ours)
	for series.Next() {
		found := series.At()
		for _, ref := range found.Refs {
			_ = ref // The engine reads the samples of series ref.Series of block ref.Block.
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
