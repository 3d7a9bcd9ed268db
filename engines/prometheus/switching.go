package prometheus

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// switchingSeries is a series whose samples come from several folders. A histogram says whether it was reset since the
// one before it in its folder: behind a switch to another folder, this is unknown, as in storage.ChainedSeriesMerge.
type switchingSeries struct {
	storage.Series
	// starts are the first times of the folders, in their order.
	starts []int64
}

func (s *switchingSeries) Iterator(reused chunkenc.Iterator) chunkenc.Iterator {
	if old, ok := reused.(*switchingIterator); ok {
		reused = old.Iterator
	}
	return &switchingIterator{Iterator: s.Series.Iterator(reused), starts: s.starts, next: math.MinInt64}
}

type switchingIterator struct {
	chunkenc.Iterator
	starts []int64
	// next is the first time of the folder behind that of the last sample.
	next int64
	// consecutive is true if the sample before this one is of the same folder, and was seen.
	consecutive bool
}

func (i *switchingIterator) Next() chunkenc.ValueType {
	typ := i.Iterator.Next()
	i.consecutive = true
	i.stepped(typ)
	return typ
}

func (i *switchingIterator) Seek(time int64) chunkenc.ValueType {
	typ := i.Iterator.Seek(time)
	i.stepped(typ)
	i.consecutive = false
	return typ
}

// stepped looks whether a sample is of another folder than the last one.
func (i *switchingIterator) stepped(typ chunkenc.ValueType) {
	if typ == chunkenc.ValNone {
		return
	}
	if time := i.AtT(); time >= i.next {
		i.consecutive = false
		passed, found := slices.BinarySearch(i.starts, time)
		if found {
			passed++
		}
		i.starts, i.next = i.starts[passed:], math.MaxInt64
		if len(i.starts) > 0 {
			i.next = i.starts[0]
		}
	}
}

func (i *switchingIterator) AtHistogram(to *histogram.Histogram) (int64, *histogram.Histogram) {
	time, value := i.Iterator.AtHistogram(to)
	if !i.consecutive && value.CounterResetHint != histogram.GaugeType {
		value.CounterResetHint = histogram.UnknownCounterReset
	}
	return time, value
}

func (i *switchingIterator) AtFloatHistogram(to *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	time, value := i.Iterator.AtFloatHistogram(to)
	if !i.consecutive && value.CounterResetHint != histogram.GaugeType {
		value.CounterResetHint = histogram.UnknownCounterReset
	}
	return time, value
}
