package prometheus

import (
	"context"
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/annotations"

	"chronoxide"
)

// querier answers for a range of times, both ends included.
type querier struct {
	snapshot   *snapshot
	options    Options
	mint, maxt int64
	closed     bool
}

type sampleQuerier struct{ *querier }

type chunkQuerier struct{ *querier }

// everySeries is the matcher for which tsdb's queriers take all postings as they are.
var everySeries = labels.MustNewMatcher(labels.MatchEqual, "", "")

func (q *querier) Close() error {
	if q.closed {
		return errors.New("querier already closed")
	}
	q.closed = true
	return q.snapshot.release()
}

// strings returns a querier of names and values of labels.
func (q *querier) strings(limit int) *chronoxide.Querier {
	all := q.snapshot.blocks.Querier(q.mint, q.maxt)
	all.MaxStrings = limit
	return all
}

func limit(hints *storage.LabelHints) int {
	if hints == nil {
		return 0
	}
	return hints.Limit
}

func (q *querier) LabelValues(
	ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	values, warnings, err := q.strings(limit(hints)).LabelValues(ctx, name, converted(matchers)...)
	return values, annotated(warnings), err
}

func (q *querier) LabelNames(
	ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	names, warnings, err := q.strings(limit(hints)).LabelNames(ctx, converted(matchers)...)
	return names, annotated(warnings), err
}

func annotated(warnings []error) annotations.Annotations {
	var all annotations.Annotations
	for _, warning := range warnings {
		all.Add(warning)
	}
	return all
}

// hints returns those of the caller, or of the range of the querier.
func (q *querier) hints(hints *storage.SelectHints) *storage.SelectHints {
	if hints == nil {
		return &storage.SelectHints{Start: q.mint, End: q.maxt}
	}
	return hints
}

// limitOf returns the maximum number of series. Layers are merged with a limit of their own: each gives as many.
func limitOf(hints *storage.SelectHints) int {
	if hints.Limit > 0 {
		return hints.Limit
	}
	return math.MaxInt
}

// untrimmed returns hints by which tsdb trims nothing: a selection does.
func untrimmed(hints *storage.SelectHints) *storage.SelectHints {
	copied := *hints
	copied.DisableTrimming = true
	return &copied
}

// selected are the layers of a Select, each with its own selection.
func (q *querier) selected(
	ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers []*labels.Matcher,
) (layers []*selected, warnings annotations.Annotations, err error) {
	mint, maxt := hints.Start, hints.End
	// Without chunk files, only the series with samples in them fail, when these are read. A partial answer lacks them.
	opensChunks := q.options.PartialAnswers && hints.Func != "series"
	folders, missing, failures := q.snapshot.layers(mint, maxt, opensChunks)
	if q.options.PartialAnswers {
		for _, folder := range missing {
			failures = append(failures, folder.err)
		}
		missing = nil
	}
	if len(failures) > 0 && !q.options.PartialAnswers {
		return nil, nil, errors.Join(failures...)
	}
	// Several layers are merged by their labels.
	sortSeries = sortSeries || len(folders) > 1
	for _, layer := range folders {
		series := q.snapshot.blocks.Querier(mint, maxt)
		series.MaxSeries = q.options.MaxSeries
		selected := &selected{
			folders: layer, series: series.Select(ctx, sortSeries, converted(matchers)...), mint: mint, maxt: maxt,
		}
		if len(layers) == 0 {
			selected.missing = missing
		}
		for _, folder := range layer {
			selected.starts = append(selected.starts, folder.shared.meta.MinTime)
		}
		if !hints.DisableTrimming {
			selected.outside = outside(mint, maxt)
		}
		layers = append(layers, selected)
	}
	return layers, annotated(failures), nil
}

// Select returns the series that satisfy all matchers, with their samples.
func (q *sampleQuerier) Select(
	ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	hints = q.hints(hints)
	layers, warnings, err := q.selected(ctx, sortSeries, hints, matchers)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	var sets []storage.SeriesSet
	for _, layer := range layers {
		reader, err := tsdb.NewBlockQuerier(layer, q.mint, q.maxt)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		set := reader.Select(ctx, false, untrimmed(hints), everySeries)
		sets = append(sets, &selectedSeries{set, selection{layer, warnings, limitOf(hints)}})
	}
	if len(sets) == 0 {
		return &selectedSeries{storage.EmptySeriesSet(), selection{warnings: warnings}}
	}
	return storage.NewMergeSeriesSet(sets, hints.Limit, storage.ChainedSeriesMerge)
}

// Select returns the series that satisfy all matchers, with their chunks.
func (q *chunkQuerier) Select(
	ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.ChunkSeriesSet {
	hints = q.hints(hints)
	layers, warnings, err := q.selected(ctx, sortSeries, hints, matchers)
	if err != nil {
		return storage.ErrChunkSeriesSet(err)
	}
	var sets []storage.ChunkSeriesSet
	for _, layer := range layers {
		reader, err := tsdb.NewBlockChunkQuerier(layer, q.mint, q.maxt)
		if err != nil {
			return storage.ErrChunkSeriesSet(err)
		}
		set := reader.Select(ctx, false, untrimmed(hints), everySeries)
		sets = append(sets, &selectedChunkSeries{set, selection{layer, warnings, limitOf(hints)}})
	}
	if len(sets) == 0 {
		empty := storage.NewSeriesSetToChunkSet(storage.EmptySeriesSet())
		return &selectedChunkSeries{empty, selection{warnings: warnings}}
	}
	merge := storage.NewCompactingChunkSeriesMerger(storage.ChainedSeriesMerge)
	return storage.NewMergeChunkSeriesSet(sets, hints.Limit, merge)
}

// selection is what a set of series or of chunks adds to that of tsdb: warnings of damaged blocks, which are known at
// the end, and a limit.
type selection struct {
	layer    *selected
	warnings annotations.Annotations
	// left is the number of series that may still come.
	left int
}

// take returns true if one more series may come.
func (s *selection) take() bool {
	s.left--
	return s.left >= 0
}

func (s *selection) Warnings() annotations.Annotations { return s.layer.warned(s.warnings) }

// selectedSeries are the series of a layer. It joins the samples of several folders.
type selectedSeries struct {
	storage.SeriesSet
	selection
}

func (s *selectedSeries) Next() bool { return s.take() && s.SeriesSet.Next() }

func (s *selectedSeries) At() storage.Series {
	if s.layer.sources < 2 {
		return s.SeriesSet.At()
	}
	return &switchingSeries{s.SeriesSet.At(), s.layer.starts}
}

func (s *selectedSeries) Warnings() annotations.Annotations { return s.selection.Warnings() }

// selectedChunkSeries are the series of a layer with their chunks.
type selectedChunkSeries struct {
	storage.ChunkSeriesSet
	selection
}

func (s *selectedChunkSeries) Next() bool { return s.take() && s.ChunkSeriesSet.Next() }

func (s *selectedChunkSeries) Warnings() annotations.Annotations { return s.selection.Warnings() }
