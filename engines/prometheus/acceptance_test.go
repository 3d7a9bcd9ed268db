package prometheus

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"
)

// convertedStorage takes samples as Prometheus's test storage does, and answers from blocks: whenever samples came in
// since the last query, it writes them to a block of Prometheus, converts it, and deletes the index.
type convertedStorage struct {
	*teststorage.TestStorage
	t testing.TB

	mutex     sync.Mutex
	queryable *Queryable
}

func (s *convertedStorage) Appender(ctx context.Context) storage.Appender {
	s.changed()
	return s.TestStorage.Appender(ctx)
}

func (s *convertedStorage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	s.changed()
	return s.TestStorage.AppenderV2(ctx)
}

func (s *convertedStorage) changed() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.queryable != nil {
		s.queryable.Close()
		s.queryable = nil
	}
}

func (s *convertedStorage) current() (*Queryable, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.queryable != nil {
		return s.queryable, nil
	}
	data := s.t.TempDir()
	if err := s.Snapshot(data, true); err != nil {
		return nil, err
	}
	labels := s.t.TempDir()
	if blocks, _ := filepath.Glob(filepath.Join(data, "*", "index")); len(blocks) > 0 {
		labels = convert(s.t, data)
		for _, index := range blocks {
			if err := os.Remove(index); err != nil {
				return nil, err
			}
		}
	}
	queryable, _, err := Open(labels, data, Options{})
	s.queryable = queryable
	return queryable, err
}

func (s *convertedStorage) Querier(mint, maxt int64) (storage.Querier, error) {
	queryable, err := s.current()
	if err != nil {
		return nil, err
	}
	return queryable.Querier(mint, maxt)
}

func (s *convertedStorage) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	queryable, err := s.current()
	if err != nil {
		return nil, err
	}
	return queryable.ChunkQuerier(mint, maxt)
}

func (s *convertedStorage) Close() error {
	s.changed()
	return s.TestStorage.Close()
}

// Prometheus's own acceptance tests of PromQL.
func TestAcceptance(t *testing.T) {
	command(t, "chronoxide-ingest")
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) storage.Storage {
		return &convertedStorage{t: t, TestStorage: teststorage.New(t, func(options *tsdb.Options) {
			options.EnableSTStorage = true
			options.FloatChunkEncoding = chunkenc.EncXOR2
			options.EnableHistogramSTEncoding = true
		})}
	})
}
