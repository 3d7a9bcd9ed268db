package prometheus

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"chronoxide"
)

// seriesRef returns the reference of the series at a position. Prometheus takes 0 for none.
func seriesRef(position uint32) storage.SeriesRef { return storage.SeriesRef(position) + 1 }

// blockIndex reads the labels and chunk lists of a block. It serves one goroutine at a time, as those of Prometheus do
// within a querier.
type blockIndex struct {
	block  *Block
	all    *chronoxide.Querier
	reader *chronoxide.Reader
	// part has the series that were read last, from position start on: postings often come in order.
	part  *chronoxide.Batch
	lists chunkLists
	start uint32
	ids   []chronoxide.SeriesID
	// labels keeps its memory.
	labels labelReader
}

// seriesPerRead is the number of series that are read at once around one that is asked for.
const seriesPerRead = 64

func (i *blockIndex) Symbols() index.StringIter {
	symbols, err := i.symbols()
	if err != nil {
		return failedStrings{err}
	}
	return index.NewStringListIter(symbols)
}

// symbols returns all names and values of labels, sorted.
func (i *blockIndex) symbols() ([]string, error) {
	names, err := i.LabelNames(context.Background())
	symbols := slices.Clone(names)
	for _, name := range names {
		values, failure := i.LabelValues(context.Background(), name, nil)
		if failure != nil {
			return nil, failure
		}
		symbols = append(symbols, values...)
	}
	slices.Sort(symbols)
	return slices.Compact(symbols), err
}

// failedStrings is the iterator of an error.
type failedStrings struct{ err error }

func (failedStrings) Next() bool   { return false }
func (failedStrings) At() string   { return "" }
func (s failedStrings) Err() error { return s.err }

// strict returns an error of a damaged block, which leaves nothing to answer from.
func strict(warnings []error, err error) error {
	if err == nil && len(warnings) > 0 {
		return warnings[0]
	}
	return err
}

func (i *blockIndex) SortedLabelValues(
	ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, error) {
	querier := *i.all
	if hints != nil {
		querier.MaxStrings = hints.Limit
	}
	values, warnings, err := querier.LabelValues(ctx, name, converted(matchers)...)
	return values, strict(warnings, err)
}

func (i *blockIndex) LabelValues(
	ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, error) {
	return i.SortedLabelValues(ctx, name, hints, matchers...)
}

func (i *blockIndex) LabelNames(ctx context.Context, matchers ...*labels.Matcher) ([]string, error) {
	names, warnings, err := i.all.LabelNames(ctx, converted(matchers)...)
	return names, strict(warnings, err)
}

// postings returns the series that satisfy matchers.
func (i *blockIndex) postings(ctx context.Context, matchers ...chronoxide.Matcher) (index.Postings, error) {
	ranges, warnings, err := i.all.SelectRanges(ctx, matchers...)
	if err := strict(warnings, err); err != nil {
		return nil, err
	}
	if len(ranges) == 0 {
		return index.EmptyPostings(), nil
	}
	return &rangePostings{ranges: ranges}, nil
}

func (i *blockIndex) Postings(ctx context.Context, name string, values ...string) (index.Postings, error) {
	if allName, allValue := index.AllPostingsKey(); name == allName && slices.Equal(values, []string{allValue}) {
		return i.postings(ctx)
	}
	// An empty value is an absent label, for which an index has no postings.
	values = slices.DeleteFunc(slices.Clone(values), func(value string) bool { return value == "" })
	if len(values) == 0 {
		return index.EmptyPostings(), nil
	}
	if len(values) == 1 {
		return i.postings(ctx, chronoxide.Matcher{Type: chronoxide.MatchEqual, Name: name, Value: values[0]})
	}
	var parts []index.Postings
	for len(values) > 0 {
		// An expression has at most 1 MiB.
		count, length := 0, 0
		for count < len(values) && (count == 0 || length < 1<<16) {
			values[count] = regexp.QuoteMeta(values[count])
			length += len(values[count])
			count++
		}
		text := strings.Join(values[:count], "|")
		part, err := i.postings(ctx, chronoxide.Matcher{Type: chronoxide.MatchRegexp, Name: name, Value: text})
		if err != nil {
			return nil, err
		}
		parts, values = append(parts, part), values[count:]
	}
	return index.Merge(ctx, parts...), nil
}

func (i *blockIndex) PostingsForLabelMatching(
	ctx context.Context, name string, match func(value string) bool,
) index.Postings {
	values, err := i.LabelValues(ctx, name, nil)
	if err != nil {
		return index.ErrPostings(err)
	}
	return orError(i.Postings(ctx, name, slices.DeleteFunc(values, func(value string) bool { return !match(value) })...))
}

func (i *blockIndex) PostingsForAllLabelValues(ctx context.Context, name string) index.Postings {
	return orError(i.postings(ctx, chronoxide.Matcher{Type: chronoxide.MatchNotEqual, Name: name}))
}

func orError(postings index.Postings, err error) index.Postings {
	if err != nil {
		return index.ErrPostings(err)
	}
	return postings
}

// SortedPostings sorts by the ranks of all series, which the first call of a block computes.
func (i *blockIndex) SortedPostings(postings index.Postings) index.Postings {
	ranks, err := i.block.sorted()
	if err != nil {
		return index.ErrPostings(err)
	}
	var refs []storage.SeriesRef
	for postings.Next() {
		refs = append(refs, postings.At())
	}
	if postings.Err() != nil {
		return index.ErrPostings(postings.Err())
	}
	slices.SortFunc(refs, func(left, right storage.SeriesRef) int { return int(ranks[left-1]) - int(ranks[right-1]) })
	return index.NewListPostings(refs)
}

// sorted returns the rank of each series in the order of labels.
func (b *Block) sorted() ([]uint32, error) {
	b.sorting.Do(func() {
		ranks, rank := make([]uint32, b.info.Series), uint32(0)
		querier := b.labels.Querier(minTime, maxTime)
		series := querier.Select(context.Background(), true)
		defer series.Close()
		for batch := series.NextBatch(); batch != nil; batch = series.NextBatch() {
			for _, id := range batch.AllIDs() {
				ranks[id.Series] = rank
				rank++
			}
		}
		b.ranks, b.sortErr = ranks, strict(series.Warnings(), series.Err())
	})
	return b.ranks, b.sortErr
}

func (i *blockIndex) ShardedPostings(postings index.Postings, shardIndex, shardCount uint64) index.Postings {
	var refs []storage.SeriesRef
	var builder labels.ScratchBuilder
	for postings.Next() {
		if err := i.Series(postings.At(), &builder, nil); err != nil {
			return index.ErrPostings(err)
		}
		if labels.StableHash(builder.Labels())%shardCount == shardIndex {
			refs = append(refs, postings.At())
		}
	}
	if postings.Err() != nil {
		return index.ErrPostings(postings.Err())
	}
	return index.NewListPostings(refs)
}

// load reads a series, and those behind it.
func (i *blockIndex) load(ref storage.SeriesRef) (place int, err error) {
	if ref == 0 || ref > storage.SeriesRef(i.block.info.Series) {
		return 0, storage.ErrNotFound
	}
	position := uint32(ref - 1)
	if i.part != nil && position >= i.start && int(position-i.start) < len(i.ids) {
		return int(position - i.start), nil
	}
	i.part = nil
	ids := i.block.ids(position, min(position+seriesPerRead, i.block.info.Series))
	if err := i.lists.read(i.block.columns, ids); err != nil {
		return 0, err
	}
	if i.part, err = i.reader.Labels(ids); err != nil {
		i.part = nil
		return 0, err
	}
	i.start, i.ids = position, ids
	return 0, nil
}

func (i *blockIndex) Series(
	ref storage.SeriesRef, builder *labels.ScratchBuilder, to *[]chunks.Meta,
) error {
	place, err := i.load(ref)
	if err != nil {
		return err
	}
	i.labels.read(i.part, place, builder)
	if to == nil {
		return nil
	}
	if *to, err = i.lists.appendChunks(place, 0, (*to)[:0]); err != nil {
		return fmt.Errorf("%s: series %d: %w", i.block.info.Path, ref-1, err)
	}
	return nil
}

func (i *blockIndex) LabelNamesFor(ctx context.Context, postings index.Postings) ([]string, error) {
	found := map[string]struct{}{}
	for count := 0; postings.Next(); count++ {
		if count%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		place, err := i.load(postings.At())
		if err != nil {
			return nil, err
		}
		i.part.EachLabel(place, func(name, _ string) {
			if _, known := found[name]; !known {
				found[strings.Clone(name)] = struct{}{}
			}
		})
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, postings.Err()
}

func (i *blockIndex) Close() error {
	i.part = nil
	i.reader.Close()
	return nil
}

// rangePostings are ranges of series as postings.
type rangePostings struct {
	ranges []chronoxide.IDRange
	// next is the next series of the first range.
	next    uint32
	current storage.SeriesRef
}

func (p *rangePostings) Next() bool {
	for len(p.ranges) > 0 {
		if position := max(p.next, p.ranges[0].Start); position < p.ranges[0].End {
			p.next, p.current = position+1, seriesRef(position)
			return true
		}
		p.ranges = p.ranges[1:]
	}
	return false
}

func (p *rangePostings) Seek(ref storage.SeriesRef) bool {
	if p.current >= ref {
		return p.current != 0
	}
	// Ranges that end before the reference, found as a whole.
	first, _ := slices.BinarySearchFunc(p.ranges, ref, func(one chronoxide.IDRange, ref storage.SeriesRef) int {
		if seriesRef(one.End) <= ref {
			return -1
		}
		return 1
	})
	p.ranges = p.ranges[first:]
	p.next = max(p.next, uint32(min(ref-1, 1<<32-1)))
	return p.Next()
}

func (p *rangePostings) At() storage.SeriesRef { return p.current }

func (*rangePostings) Err() error { return nil }
