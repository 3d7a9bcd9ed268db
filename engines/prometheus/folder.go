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

	opening sync.Once
	reader  *chunks.Reader
	err     error
}

// openChunkFolder reads the metadata of a folder.
func openChunkFolder(path string) (*chunkFolder, error) {
	name := filepath.Join(path, "meta.json")
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

// chunks returns the reader of the chunk files. They are mapped when a query first asks for samples.
func (f *chunkFolder) chunks() (*chunks.Reader, error) {
	f.opening.Do(func() {
		f.reader, f.err = chunks.NewDirReader(filepath.Join(f.path, "chunks"), nil)
	})
	return f.reader, f.err
}

// chunk reads a chunk.
func (f *chunkFolder) chunk(meta chunks.Meta) (chunkenc.Chunk, error) {
	reader, err := f.chunks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
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
	// A later call of chunks must not open the files.
	f.opening.Do(func() { f.err = os.ErrClosed })
	if f.reader == nil {
		return nil
	}
	return f.reader.Close()
}
