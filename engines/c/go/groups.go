package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// Group is the number of distinct series with some labels.
type Group struct {
	// Labels are those by which series are counted, in the order of their names, without absent ones.
	Labels []Label
	Series uint64
}

// CountBy counts the series that satisfy all matchers by the values of some labels, in the order of these labels.
func (q *Querier) CountBy(
	ctx context.Context, names []string, matchers ...Matcher,
) (groups []Group, warnings []error, err error) {
	// C reads names during the call only.
	var pinned runtime.Pinner
	defer pinned.Unpin()
	list := make([]C.cx_string, len(names))
	for i, name := range names {
		list[i] = C.cx_string{data: (*C.char)(unsafe.Pointer(unsafe.StringData(name))), len: C.size_t(len(name))}
		if len(name) > 0 {
			pinned.Pin(unsafe.StringData(name))
		}
	}
	var found *C.cx_groups
	warnings, err = q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		first := unsafe.SliceData(list)
		return C.cx_query_group(q.blocks.handle, query, first, C.size_t(len(list)), false, &found, failure)
	})
	defer C.cx_groups_free(found)
	for _, group := range unsafe.Slice(C.cx_groups_items(found), C.cx_groups_count(found)) {
		copied := Group{Series: uint64(group.series_count)}
		for _, label := range unsafe.Slice(group.labels, group.label_count) {
			copied.Labels = append(copied.Labels, Label{
				Name:  C.GoStringN(label.name, C.int(label.name_len)),
				Value: C.GoStringN(label.value, C.int(label.value_len)),
			})
		}
		groups = append(groups, copied)
	}
	return groups, warnings, err
}
