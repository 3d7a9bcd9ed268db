package prometheus

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"chronoxide"
)

// Names of the columns of chunk lists, by spec/CHUNKS.md. The id of the block of Prometheus follows.
const (
	firstChunkColumn = "prometheus.chunks/"
	distancesColumn  = "prometheus.chunk_distances/"
	startColumn      = "prometheus.chunk_start/"
	timesColumn      = "prometheus.chunk_times/"
	deletionsColumn  = "prometheus.deletions/"
)

// chunkColumns are the columns with the chunks of the series in one block of Prometheus.
type chunkColumns struct {
	references, distances, starts, times *chronoxide.Column
	// deletions is nil if nothing of the block is deleted.
	deletions *chronoxide.Column
}

// openChunkColumns opens the columns of the block of Prometheus with an id.
func openChunkColumns(blocks *chronoxide.Blocks, id string) (columns *chunkColumns, err error) {
	columns = &chunkColumns{}
	defer func() {
		if err != nil {
			columns.close()
			columns = nil
		}
	}()
	for _, one := range []struct {
		name   string
		column **chronoxide.Column
		typ    chronoxide.ValueType
	}{
		{firstChunkColumn, &columns.references, chronoxide.Uint64Values},
		{distancesColumn, &columns.distances, chronoxide.BytesValues},
		{startColumn, &columns.starts, chronoxide.Int64Values},
		{timesColumn, &columns.times, chronoxide.BytesValues},
		{deletionsColumn, &columns.deletions, chronoxide.BytesValues},
	} {
		if *one.column, err = blocks.Column(one.name + id); err != nil {
			return columns, err
		}
		if *one.column == nil && one.column != &columns.deletions {
			return columns, fmt.Errorf("the column %s%s of the chunk lists is missing", one.name, id)
		}
		if *one.column != nil && (*one.column).Info().Type != one.typ {
			return columns, fmt.Errorf("the column %s%s has another type than chunk lists have", one.name, id)
		}
	}
	return columns, nil
}

func (c *chunkColumns) close() {
	for _, column := range []*chronoxide.Column{c.references, c.distances, c.starts, c.times, c.deletions} {
		if column != nil {
			column.Close()
		}
	}
}

// chunkLists are the values of several series. Its slices are reused, and bytes are those of the blocks.
type chunkLists struct {
	references        []uint64
	starts            []int64
	present, hasStart []bool
	distances, times  []chronoxide.BytesView
	deletions         []chronoxide.BytesView
}

// read reads the chunk lists of some series.
func (l *chunkLists) read(columns *chunkColumns, ids []chronoxide.SeriesID) error {
	l.references, l.starts = resized(l.references, len(ids)), resized(l.starts, len(ids))
	l.present, l.hasStart = resized(l.present, len(ids)), resized(l.hasStart, len(ids))
	l.distances, l.times = resized(l.distances, len(ids)), resized(l.times, len(ids))
	l.deletions = resized(l.deletions, len(ids))
	clear(l.deletions)
	err := errors.Join(
		columns.references.ReadUint64(ids, l.references, l.present),
		columns.starts.ReadInt64(ids, l.starts, l.hasStart),
		columns.distances.ViewBytes(ids, l.distances),
		columns.times.ViewBytes(ids, l.times),
	)
	if columns.deletions != nil {
		err = errors.Join(err, columns.deletions.ViewBytes(ids, l.deletions))
	}
	return err
}

func resized[T any](slice []T, length int) []T {
	if cap(slice) < length {
		return make([]T, length)
	}
	return slice[:length]
}

var errList = errors.New("a chunk list is malformed")

// appendChunks appends the chunks of the series at a position, if it has any, and adds offset to their references.
func (l *chunkLists) appendChunks(position int, offset uint64, to []chunks.Meta) ([]chunks.Meta, error) {
	if !l.present[position] {
		return to, nil
	}
	timesText, distances := l.times[position].Bytes(), l.distances[position].Bytes()
	if !l.hasStart[position] || timesText == nil || distances == nil {
		return nil, errList
	}
	times := varints{bytes: timesText}
	count := times.next()
	var packed []byte
	width := 0
	if len(distances) > 0 {
		width, packed = int(distances[0]), distances[1:]
	}
	// The bytes bound the number of chunks: two in turn do not have one place.
	if times.failed || count == 0 || (width == 0) != (count == 1) || width > 64 || count > 1<<20 ||
		(int(count-1)*width+7)/8 != len(packed) || (count == 1) != (len(distances) == 0) {
		return nil, errList
	}
	reference, first := l.references[position], l.starts[position]
	var gap, duration, last int64
	for number := range int(count) {
		if number > 0 {
			gap += times.difference()
			first = last + gap
			reference += field(packed, (number-1)*width, width)
		}
		duration += times.difference()
		last = first + duration
		if reference>>48 != 0 {
			return nil, errList
		}
		to = append(to, chunks.Meta{Ref: chunks.ChunkRef(reference | offset), MinTime: first, MaxTime: last})
	}
	if times.failed || len(times.bytes) > 0 {
		return nil, errList
	}
	return to, nil
}

// deleted returns the deleted times of the series at a position. The last time of all is left out: behind it, tsdb's
// Intervals.Add panics.
func (l *chunkLists) deleted(position int) (intervals tombstones.Intervals, err error) {
	numbers := varints{bytes: l.deletions[position].Bytes()}
	end := int64(0)
	for len(numbers.bytes) > 0 {
		start := end + numbers.difference()
		if len(numbers.bytes) == 0 {
			return nil, errList
		}
		behind := start + int64(numbers.next())
		// Ranges stand in the order of their times, and do not overlap.
		if behind < start || len(intervals) > 0 && start <= end {
			return nil, errList
		}
		end = behind
		intervals = append(intervals, tombstones.Interval{Mint: start, Maxt: min(end, maxTime-1)})
	}
	if numbers.failed {
		return nil, errList
	}
	return intervals, nil
}

// field returns the number in some bits; its lowest bit comes first.
func field(packed []byte, start, width int) uint64 {
	// A number and the bits before it in its first byte have up to 71 bits.
	var bytes [16]byte
	copy(bytes[:], packed[start/8:])
	low, high := binary.LittleEndian.Uint64(bytes[:]), binary.LittleEndian.Uint64(bytes[8:])
	shift := uint(start % 8)
	number := low >> shift
	if shift > 0 {
		number |= high << (64 - shift)
	}
	if width < 64 {
		number &= 1<<width - 1
	}
	return number
}

// varints reads numbers in base 128.
type varints struct {
	bytes  []byte
	failed bool
}

// next returns the next number. Without one, it fails.
func (v *varints) next() uint64 {
	number, length := binary.Uvarint(v.bytes)
	if length <= 0 {
		v.failed, v.bytes = true, nil
		return 0
	}
	v.bytes = v.bytes[length:]
	return number
}

// difference returns the next difference: 0 behind the last one.
func (v *varints) difference() int64 {
	if len(v.bytes) == 0 {
		return 0
	}
	number := v.next()
	return int64(number>>1) ^ -int64(number&1)
}
