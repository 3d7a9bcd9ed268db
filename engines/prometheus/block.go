package prometheus

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"chronoxide"
)

// Block is a block of Prometheus without its index: a Chronoxide block has the labels and chunk lists, and the folder
// of Prometheus the samples. It is a tsdb.BlockReader, for tsdb.NewBlockQuerier and all else that reads blocks. Its
// postings are selections: to query many blocks at once, use Queryable.
//
// Of a Chronoxide block that serves several blocks of Prometheus, names and values of labels are those of all series.
// Methods may be called from several goroutines at once, but not together with Close.
type Block struct {
	labels  *chronoxide.Blocks
	info    chronoxide.BlockInfo
	folder  *chunkFolder
	columns *chunkColumns

	sorting sync.Once
	// ranks are the positions of the series in the order of labels.
	ranks   []uint32
	sortErr error
}

// All times, in milliseconds.
const minTime, maxTime = math.MinInt64, math.MaxInt64

var _ tsdb.BlockReader = (*Block)(nil)

// OpenBlock opens the block of Prometheus in a folder, whose labels and chunk lists are in the Chronoxide block at path.
func OpenBlock(path, folder string) (_ *Block, err error) {
	block := &Block{}
	defer func() {
		if err != nil {
			block.Close()
		}
	}()
	if block.folder, err = openChunkFolder(folder); err != nil {
		return nil, err
	}
	var warnings []error
	if block.labels, warnings, err = chronoxide.Open(path); err != nil {
		return nil, err
	}
	infos, err := block.labels.Infos()
	if err := errors.Join(append(warnings, err)...); err != nil {
		return nil, err
	}
	if len(infos) != 1 {
		return nil, fmt.Errorf("%s: %d blocks, not one", path, len(infos))
	}
	block.info = infos[0]
	if block.columns, err = openChunkColumns(block.labels, block.folder.meta.ULID.String()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return block, nil
}

// Close releases the block.
func (b *Block) Close() (err error) {
	if b.columns != nil {
		b.columns.close()
	}
	if b.labels != nil {
		b.labels.Close()
	}
	if b.folder != nil {
		err = b.folder.close()
	}
	return err
}

// Meta returns the content of meta.json.
func (b *Block) Meta() tsdb.BlockMeta { return b.folder.meta }

// Size returns the bytes of the Chronoxide block and of the chunk files.
func (b *Block) Size() int64 {
	total, _ := b.folder.size()
	if info, err := os.Stat(b.info.Path); err == nil {
		total += info.Size()
	}
	return total
}

// Index returns labels and chunk lists.
func (b *Block) Index() (tsdb.IndexReader, error) {
	reader, err := b.labels.Reader()
	if err != nil {
		return nil, err
	}
	return &blockIndex{block: b, all: b.labels.Querier(minTime, maxTime), reader: reader}, nil
}

// Chunks returns a reader of samples.
func (b *Block) Chunks() (tsdb.ChunkReader, error) { return folderChunks{b.folder}, nil }

// folderChunks reads the chunks of one folder.
type folderChunks struct{ folder *chunkFolder }

func (c folderChunks) ChunkOrIterable(meta chunks.Meta) (chunkenc.Chunk, chunkenc.Iterable, error) {
	chunk, err := c.folder.chunk(meta)
	return chunk, nil, err
}

// Close does nothing: the files are those of the block.
func (folderChunks) Close() error { return nil }

// Tombstones returns the deleted times of series.
func (b *Block) Tombstones() (tombstones.Reader, error) {
	all := tombstones.NewMemTombstones()
	if b.columns.deletions == nil {
		return all, nil
	}
	var lists chunkLists
	err := eachPart(b.ids(0, b.info.Series), func(ids []chronoxide.SeriesID) error {
		if err := lists.read(b.columns, ids); err != nil {
			return err
		}
		for position, id := range ids {
			deleted, err := lists.deleted(position)
			if err != nil {
				return fmt.Errorf("%s: series %d: %w", b.info.Path, id.Series, err)
			}
			all.AddInterval(seriesRef(id.Series), deleted...)
		}
		return nil
	})
	return all, err
}

// ids returns the ids of neighbouring series.
func (b *Block) ids(start, end uint32) []chronoxide.SeriesID {
	ids := make([]chronoxide.SeriesID, 0, end-start)
	for series := start; series < end; series++ {
		ids = append(ids, chronoxide.SeriesID{Block: b.info.ID, Series: series})
	}
	return ids
}

// eachPart calls each with ids that are read at once.
func eachPart(ids []chronoxide.SeriesID, each func([]chronoxide.SeriesID) error) error {
	const part = 1024
	for len(ids) > 0 {
		count := min(len(ids), part)
		if err := each(ids[:count]); err != nil {
			return err
		}
		ids = ids[count:]
	}
	return nil
}
