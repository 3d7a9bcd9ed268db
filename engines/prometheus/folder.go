package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// chunkFolder is a block of Prometheus without its index: metadata and chunk files.
type chunkFolder struct {
	path string
	meta tsdb.BlockMeta

	mutex  sync.Mutex
	reader *chunks.Reader
	closed bool
}

// openChunkFolder reads the metadata of a folder.
func openChunkFolder(path string) (*chunkFolder, error) {
	name := filepath.Join(path, "meta.json")
	// A pipe could be waited for without end.
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	folder := &chunkFolder{path: path}
	if err := json.Unmarshal(text, &folder.meta); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if folder.meta.Version != 1 {
		return nil, fmt.Errorf("%s: unsupported block version %d", name, folder.meta.Version)
	}
	return folder, nil
}

// chunks returns the reader of the chunk files. They are mapped when a query first asks for samples. An error is not
// kept: the next query tries again.
func (f *chunkFolder) chunks() (*chunks.Reader, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, os.ErrClosed
	}
	if f.reader == nil {
		reader, err := chunks.NewDirReader(filepath.Join(f.path, "chunks"), nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		f.reader = reader
	}
	return f.reader, nil
}

// chunk reads a chunk.
func (f *chunkFolder) chunk(meta chunks.Meta) (chunkenc.Chunk, error) {
	reader, err := f.chunks()
	if err != nil {
		return nil, err
	}
	chunk, _, err := reader.ChunkOrIterable(meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return chunk, nil
}

// size returns the bytes of the chunk files.
func (f *chunkFolder) size() (int64, error) {
	entries, err := os.ReadDir(filepath.Join(f.path, "chunks"))
	total := int64(0)
	for _, entry := range entries {
		info, failure := entry.Info()
		if failure == nil {
			total += info.Size()
		}
		err = errors.Join(err, failure)
	}
	return total, err
}

func (f *chunkFolder) close() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
	if f.reader == nil {
		return nil
	}
	return f.reader.Close()
}
