package prometheus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/storage"

	"chronoxide"
)

// Options say how a Queryable answers.
type Options struct {
	// MaxSeries limits the series of a Select, before their chunks are looked at; 0 for no limit. More are an error.
	MaxSeries uint64
	// PartialAnswers makes missing folders of chunks, and chunk files that cannot be opened, warnings: their samples are
	// not in the answer.
	PartialAnswers bool
}

// Queryable answers from a folder of Chronoxide blocks with chunk lists, and from the folders of Prometheus with the
// samples. Matchers go to the Chronoxide blocks as they are: a block that serves many folders of samples is searched
// once for all of them.
//
// Blocks are those that were there at the last Reload. Queriers that are open keep theirs.
type Queryable struct {
	options         Options
	labels, samples string

	// reloading is held by the one Reload that runs, while queries go on.
	reloading sync.Mutex

	mutex    sync.Mutex
	snapshot *snapshot
}

var (
	_ storage.SampleAndChunkQueryable = (*Queryable)(nil)
	_ storage.ExemplarQueryable       = (*Queryable)(nil)
)

// Open opens the blocks in the folder labels. samples is a data folder of Prometheus: it has the folders of the blocks
// that the chunk lists name. Warnings has the errors of files in labels that are not valid blocks.
func Open(labels, samples string, options Options) (queryable *Queryable, warnings []error, err error) {
	blocks, warnings, err := chronoxide.Open(labels)
	if err != nil {
		return nil, nil, err
	}
	taken, err := newSnapshot(blocks, samples, nil)
	if err != nil {
		return nil, nil, err
	}
	queryable = &Queryable{options: options, labels: labels, samples: samples, snapshot: taken}
	return queryable, append(warnings, taken.lacks(labels)...), nil
}

// lacks returns what answers will lack: folders of chunks that are missing, or all if no block has chunk lists.
func (s *snapshot) lacks(labels string) (warnings []error) {
	if len(s.folders) == 0 {
		return []error{fmt.Errorf("%s: no block has chunk lists, which chronoxide-ingest --chunks writes", labels)}
	}
	for _, folder := range s.folders {
		if folder.err != nil {
			warnings = append(warnings, folder.err)
		}
	}
	return warnings
}

// Reload opens the folders again, as they are now. It keeps what is known of blocks that are still there.
func (q *Queryable) Reload() (warnings []error, err error) {
	q.reloading.Lock()
	defer q.reloading.Unlock()
	known, err := q.acquire()
	if err != nil {
		return nil, err
	}
	defer known.release()
	blocks, warnings, err := known.blocks.Refresh()
	if err != nil {
		return nil, err
	}
	fresh, err := newSnapshot(blocks, q.samples, known.folders)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, fresh.lacks(q.labels)...)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.snapshot == nil {
		return nil, errors.Join(os.ErrClosed, fresh.release())
	}
	old := q.snapshot
	q.snapshot = fresh
	return warnings, old.release()
}

// Close releases the blocks when the last querier is closed.
func (q *Queryable) Close() error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.snapshot == nil {
		return nil
	}
	old := q.snapshot
	q.snapshot = nil
	return old.release()
}

// acquire returns the blocks as they are now.
func (q *Queryable) acquire() (*snapshot, error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.snapshot == nil {
		return nil, os.ErrClosed
	}
	q.snapshot.users.Add(1)
	return q.snapshot, nil
}

// StartTime returns the first time of the samples in milliseconds, or the greatest time without samples.
func (q *Queryable) StartTime() (int64, error) {
	taken, err := q.acquire()
	if err != nil {
		return 0, err
	}
	defer taken.release()
	start := int64(maxTime)
	for _, folder := range taken.folders {
		if folder.err == nil {
			start = min(start, folder.shared.meta.MinTime)
		}
	}
	return start, nil
}

// Querier returns a querier of samples.
func (q *Queryable) Querier(mint, maxt int64) (storage.Querier, error) {
	base, err := q.querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return &sampleQuerier{base}, nil
}

// ChunkQuerier returns a querier of chunks.
func (q *Queryable) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	base, err := q.querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return &chunkQuerier{base}, nil
}

func (q *Queryable) querier(mint, maxt int64) (*querier, error) {
	taken, err := q.acquire()
	if err != nil {
		return nil, err
	}
	return &querier{snapshot: taken, options: q.options, mint: mint, maxt: maxt}, nil
}

// snapshot are blocks, and the folders of their chunks, as they were at one time. It is closed when its last user
// releases it.
type snapshot struct {
	users  atomic.Int64
	blocks *chronoxide.Blocks
	// folders are sorted by their start times.
	folders []*listedFolder
}

// listedFolder is a folder of chunks that blocks name: shared, unless err says why it cannot be read.
type listedFolder struct {
	id     string
	shared *sharedFolder
	err    error

	opening sync.Once
	// columns are opened for the first query of the folder's times: a query of an hour needs few of many.
	columns    *chunkColumns
	columnsErr error
}

// open opens the columns of the folder.
func (f *listedFolder) open(blocks *chronoxide.Blocks) error {
	f.opening.Do(func() { f.columns, f.columnsErr = openChunkColumns(blocks, f.id) })
	return f.columnsErr
}

// sharedFolder is a folder of several snapshots.
type sharedFolder struct {
	*chunkFolder
	users atomic.Int64
}

// newSnapshot takes blocks, and looks at the folders that they name. Those that are known stay mapped.
func newSnapshot(blocks *chronoxide.Blocks, samples string, known []*listedFolder) (taken *snapshot, err error) {
	taken = &snapshot{blocks: blocks}
	taken.users.Store(1)
	defer func() {
		if err != nil {
			err = errors.Join(err, taken.release())
		}
	}()
	columns, err := blocks.Columns()
	if err != nil {
		return taken, err
	}
	for _, column := range columns {
		id, found := strings.CutPrefix(column.Name, firstChunkColumn)
		if !found {
			continue
		}
		listed := &listedFolder{id: id}
		taken.folders = append(taken.folders, listed)
		// An id is part of a path.
		if strings.ContainsAny(id, `/\`) || id == "" || id[0] == '.' {
			listed.err = fmt.Errorf("the column %s names no folder", column.Name)
			continue
		}
		folder, err := openChunkFolder(filepath.Join(samples, id))
		if err == nil && folder.meta.ULID.String() != id {
			err = fmt.Errorf("%s: meta.json is that of the block %s", folder.path, folder.meta.ULID)
		}
		if err != nil {
			listed.err = fmt.Errorf("cannot read the chunks of the block %s: %w", id, err)
			continue
		}
		listed.shared = &sharedFolder{chunkFolder: folder}
		for _, other := range known {
			if other.id == id && other.shared != nil {
				listed.shared = other.shared
			}
		}
		listed.shared.users.Add(1)
	}
	slices.SortStableFunc(taken.folders, func(left, right *listedFolder) int {
		switch {
		case left.start() < right.start():
			return -1
		case left.start() > right.start():
			return 1
		}
		return strings.Compare(left.id, right.id)
	})
	return taken, nil
}

func (f *listedFolder) start() int64 {
	if f.err != nil {
		return minTime
	}
	return f.shared.meta.MinTime
}

// release ends a use.
func (s *snapshot) release() (err error) {
	if s.users.Add(-1) > 0 {
		return nil
	}
	for _, folder := range s.folders {
		if folder.columns != nil {
			folder.columns.close()
		}
		if folder.shared != nil && folder.shared.users.Add(-1) == 0 {
			err = errors.Join(err, folder.shared.close())
		}
	}
	s.blocks.Close()
	return err
}

// layers returns the folders with samples in a range of times, both ends included, in lists whose folders do not
// overlap: mostly one. Folders without metadata are missing: the times of their chunks tell whether a series needs them.
func (s *snapshot) layers(mint, maxt int64, withSamples bool) (layers [][]*listedFolder, missing []*listedFolder, failures []error) {
	for _, folder := range s.folders {
		if folder.err != nil {
			// Without its lists, nothing refers to it.
			if folder.open(s.blocks) == nil {
				missing = append(missing, folder)
			}
			continue
		}
		// The end of a block is not in it.
		meta := folder.shared.meta
		if meta.MinTime > maxt || meta.MaxTime <= mint {
			continue
		}
		err := folder.open(s.blocks)
		if err == nil && withSamples {
			_, err = folder.shared.chunks()
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		free := slices.IndexFunc(layers, func(layer []*listedFolder) bool {
			return layer[len(layer)-1].shared.meta.MaxTime <= meta.MinTime
		})
		if free < 0 {
			layers = append(layers, nil)
			free = len(layers) - 1
		}
		layers[free] = append(layers[free], folder)
	}
	if len(layers) == 0 && len(missing) > 0 {
		layers = append(layers, nil)
	}
	return layers, missing, failures
}
