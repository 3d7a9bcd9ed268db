package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import "unsafe"

// BlockInfo has facts about a block.
type BlockInfo struct {
	// ID is the id as it stands in the header of the block.
	ID [16]byte
	// Path is the path of the file.
	Path string
	// Series is the number of series.
	Series uint32
	// HasTime is false if the time range of the data is unknown: then it is 0 to 0.
	HasTime bool
	// Start and End are the time range of the data, in nanoseconds since 1970; End is behind it.
	Start, End int64
}

// Infos returns facts about the blocks: first those without a time range, then the others by start time.
func (b *Blocks) Infos() ([]BlockInfo, error) {
	infos := make([]BlockInfo, C.cx_blocks_count(b.handle))
	for i := range infos {
		var info C.cx_block_info
		var failure C.cx_error
		if err := check(C.cx_blocks_info(b.handle, C.size_t(i), &info, &failure), &failure); err != nil {
			return nil, err
		}
		infos[i] = BlockInfo{
			ID:      *(*[16]byte)(unsafe.Pointer(&info.id)),
			Path:    C.GoStringN(info.path.data, C.int(info.path.len)),
			Series:  uint32(info.series_count),
			HasTime: bool(info.has_time),
			Start:   int64(info.time.start),
			End:     int64(info.time.end),
		}
	}
	return infos, nil
}
