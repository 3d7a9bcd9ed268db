package prometheus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"
	"github.com/prometheus/prometheus/util/annotations"

	"chronoxide"
)

// selected is a selection as a tsdb.BlockReader: its only postings are the selected series, which are numbered as they
// come. So tsdb's own queriers do all that is about samples.
//
// They ask for series, chunks and deletions of the series at hand only, so that one batch of series is in memory.
// Chunks are asked for at any time later.
type selected struct {
	series *chronoxide.SeriesSet
	// folders do not overlap, and are sorted by time.
	folders []*listedFolder

	batch *chronoxide.Batch
	// place is the position in the batch, and number that in the selection.
	place  int
	number storage.SeriesRef
	// lists has the values of each folder for the ids of the batch, and missingLists those of missing folders.
	lists, missingLists []chunkLists
	// missing folders are errors of series with samples in them.
	missing []*listedFolder
	// mint and maxt are the range of times, and starts the first times of the folders.
	mint, maxt int64
	starts     []int64
	// intervals are the times to leave out of the series at hand, and sources the number of folders with other chunks of
	// it in the range.
	intervals tombstones.Intervals
	sources   int
	// outside are the times outside of the range that was asked for, unless whole chunks are wanted.
	outside tombstones.Intervals
	// shard keeps the series of one shard.
	shard, shardCount uint64
	builder           labels.ScratchBuilder
	labels            labelReader
	err               error
}

// The number of a folder stands in the upper 16 bits of a chunk reference, where those of files have zeros.
const folderShift, maxFolders = 48, 1 << 16

// Index returns the selection itself.
func (s *selected) Index() (tsdb.IndexReader, error) { return selectedIndex{s}, nil }

func (s *selected) Chunks() (tsdb.ChunkReader, error) { return selectedChunks{s.folders}, nil }

func (s *selected) Tombstones() (tombstones.Reader, error) { return selectedTombstones{s}, nil }

func (s *selected) Meta() tsdb.BlockMeta { return tsdb.BlockMeta{} }

func (s *selected) Size() int64 { return 0 }

// next steps to the next series.
func (s *selected) next() bool {
	for s.err == nil {
		if s.batch != nil && s.place+1 < s.batch.Len() {
			s.place++
		} else if !s.nextBatch() {
			return false
		}
		s.number++
		if s.shardCount == 0 {
			return true
		}
		s.labels.read(s.batch, s.place, &s.builder)
		if labels.StableHash(s.builder.Labels())%s.shardCount == s.shard {
			return true
		}
	}
	return false
}

// nextBatch reads the next series and their chunk lists.
func (s *selected) nextBatch() bool {
	if s.batch, s.place = s.series.NextBatch(), 0; s.batch == nil {
		s.err = s.series.Err()
		return false
	}
	if len(s.folders) > maxFolders {
		s.err = errors.New("more than 65,536 folders of chunks in the range of times")
		return false
	}
	if s.lists == nil {
		s.lists, s.missingLists = make([]chunkLists, len(s.folders)), make([]chunkLists, len(s.missing))
	}
	for position, folder := range s.missing {
		if s.err = s.missingLists[position].read(folder.columns, s.batch.AllIDs()); s.err != nil {
			return false
		}
	}
	for position, folder := range s.folders {
		if s.err = s.lists[position].read(folder.columns, s.batch.AllIDs()); s.err != nil {
			return false
		}
	}
	return true
}

// appendChunks appends the chunks of the series at hand, in the order of folders, and finds what to leave out of it.
func (s *selected) appendChunks(to []chunks.Meta) (_ []chunks.Meta, err error) {
	if s.intervals, err = s.leftOut(); err != nil {
		return nil, err
	}
	s.sources = 0
	ids, first := s.batch.IDs(s.place)
	if err := s.checkMissing(first, len(ids)); err != nil {
		return nil, err
	}
	for number := range s.folders {
		lists := &s.lists[number]
		// Several blocks can have the list of one folder, and then it is the same.
		for position := first; position < first+len(ids); position++ {
			if !lists.present[position] {
				continue
			}
			before := len(to)
			if to, err = lists.appendChunks(position, uint64(number)<<folderShift, to); err != nil {
				return nil, fmt.Errorf("block %x, series %d, folder %s: %w",
					ids[position-first].Block, ids[position-first].Series, s.folders[number].id, err)
			}
			if slices.ContainsFunc(to[before:], s.hasSamples) {
				s.sources++
			}
			break
		}
	}
	return to, nil
}

// checkMissing looks for chunks of the series at hand in folders that are missing.
func (s *selected) checkMissing(first, count int) error {
	for number, folder := range s.missing {
		for position := first; position < first+count; position++ {
			chunks, err := s.missingLists[number].appendChunks(position, 0, nil)
			if err != nil {
				return fmt.Errorf("folder %s: %w", folder.id, err)
			}
			if slices.ContainsFunc(chunks, s.hasSamples) {
				return folder.err
			}
		}
	}
	return nil
}

// hasSamples returns true if a chunk is in the range of times, and not deleted as a whole.
func (s *selected) hasSamples(chunk chunks.Meta) bool {
	return chunk.OverlapsClosedInterval(s.mint, s.maxt) &&
		!tombstones.Interval{Mint: chunk.MinTime, Maxt: chunk.MaxTime}.IsSubrange(s.intervals)
}

// leftOut returns the times whose samples are left out of the series at hand: those outside of the range, and deleted
// ones. The deletions of a folder are cut to its times.
//
// A chunk that lies in one of these intervals is left out as a whole. So deletions and the times outside stay apart, as
// in tsdb: a series that is partly deleted and partly outside of the range comes without samples.
func (s *selected) leftOut() (tombstones.Intervals, error) {
	var deleted tombstones.Intervals
	ids, first := s.batch.IDs(s.place)
	for number, folder := range s.folders {
		if folder.columns.deletions == nil {
			continue
		}
		for position := first; position < first+len(ids); position++ {
			intervals, err := s.lists[number].deleted(position)
			if err != nil {
				return nil, err
			}
			meta := folder.shared.meta
			for _, one := range intervals {
				one.Mint, one.Maxt = max(one.Mint, meta.MinTime), min(one.Maxt, meta.MaxTime-1)
				// Whole chunks reach over the range.
				isWanted := len(s.outside) == 0 || one.Mint <= s.maxt && one.Maxt >= s.mint
				if one.Mint <= one.Maxt && isWanted {
					// Folders do not overlap, and their deletions are in order.
					deleted = append(deleted, one)
				}
			}
		}
	}
	if len(deleted) == 0 {
		return s.outside, nil
	}
	all := make(tombstones.Intervals, 0, len(deleted)+2)
	for _, one := range s.outside {
		if one.Mint == minTime {
			one.Maxt = min(one.Maxt, deleted[0].Mint-1)
			all = append(all, one)
		}
	}
	for _, one := range deleted {
		all = all.Add(one)
	}
	for _, one := range s.outside {
		if one.Mint != minTime {
			one.Mint = max(one.Mint, deleted[len(deleted)-1].Maxt+1)
			all = append(all, one)
		}
	}
	return all, nil
}

// outside returns the times outside of a range, whose ends are in it. The last time of all is left out: with it, tsdb's
// Intervals.Add, which its iterators call, panics behind another interval.
func outside(mint, maxt int64) (intervals tombstones.Intervals) {
	if mint > minTime {
		intervals = append(intervals, tombstones.Interval{Mint: minTime, Maxt: mint - 1})
	}
	if maxt < maxTime-1 {
		intervals = append(intervals, tombstones.Interval{Mint: maxt + 1, Maxt: maxTime - 1})
	}
	return intervals
}

// warned returns warnings, and those of damaged blocks.
func (s *selected) warned(warnings annotations.Annotations) annotations.Annotations {
	if s == nil {
		return warnings
	}
	all := annotated(s.series.Warnings())
	return all.Merge(warnings)
}

// selectedIndex has the selected series as all postings.
type selectedIndex struct{ *selected }

// errSelection says that the rest of an index is not there: tsdb's queriers do not ask for it.
var errSelection = errors.New("not an index, but a selection")

func (i selectedIndex) Postings(context.Context, string, ...string) (index.Postings, error) {
	return selectedPostings(i), nil
}

func (i selectedIndex) ShardedPostings(p index.Postings, shard, count uint64) index.Postings {
	i.shard, i.shardCount = shard, count
	return p
}

// SortedPostings returns postings as they are: they were selected in the order of labels.
func (selectedIndex) SortedPostings(p index.Postings) index.Postings { return p }

func (i selectedIndex) Series(ref storage.SeriesRef, builder *labels.ScratchBuilder, to *[]chunks.Meta) (err error) {
	if ref != i.number {
		return errSelection
	}
	i.labels.read(i.batch, i.place, builder)
	*to, err = i.appendChunks((*to)[:0])
	return err
}

func (selectedIndex) Symbols() index.StringIter { return failedStrings{errSelection} }

func (selectedIndex) SortedLabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, error) {
	return nil, errSelection
}

func (selectedIndex) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, error) {
	return nil, errSelection
}

func (selectedIndex) PostingsForLabelMatching(context.Context, string, func(string) bool) index.Postings {
	return index.ErrPostings(errSelection)
}

func (selectedIndex) PostingsForAllLabelValues(context.Context, string) index.Postings {
	return index.ErrPostings(errSelection)
}

func (selectedIndex) LabelNames(context.Context, ...*labels.Matcher) ([]string, error) {
	return nil, errSelection
}

func (selectedIndex) LabelNamesFor(context.Context, index.Postings) ([]string, error) {
	return nil, errSelection
}

// Close does nothing: the end of the series releases them, or the garbage collector.
func (selectedIndex) Close() error { return nil }

// selectedPostings are the selected series.
type selectedPostings struct{ *selected }

func (p selectedPostings) Next() bool { return p.next() }

func (p selectedPostings) Seek(ref storage.SeriesRef) bool {
	for p.number < ref {
		if !p.next() {
			return false
		}
	}
	return true
}

func (p selectedPostings) At() storage.SeriesRef { return p.number }

func (p selectedPostings) Err() error { return p.err }

// selectedTombstones has the times to leave out of the series at hand.
type selectedTombstones struct{ *selected }

func (t selectedTombstones) Get(ref storage.SeriesRef) (tombstones.Intervals, error) {
	if ref != t.number {
		return nil, errSelection
	}
	return t.intervals, nil
}

func (selectedTombstones) Iter(func(storage.SeriesRef, tombstones.Intervals) error) error {
	return errSelection
}

func (selectedTombstones) Total() uint64 { return 0 }

func (selectedTombstones) Close() error { return nil }

// selectedChunks reads chunks of all folders of a selection.
type selectedChunks struct{ folders []*listedFolder }

func (c selectedChunks) ChunkOrIterable(meta chunks.Meta) (chunkenc.Chunk, chunkenc.Iterable, error) {
	folder := c.folders[meta.Ref>>folderShift]
	meta.Ref &= 1<<folderShift - 1
	chunk, err := folder.shared.chunk(meta)
	return chunk, nil, err
}

func (selectedChunks) Close() error { return nil }
