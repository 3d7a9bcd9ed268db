package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"context"
	"runtime"
	"strings"
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
	warnings, err = q.EachGroup(ctx, names, func(group Group) {
		copied := Group{Series: group.Series}
		for _, label := range group.Labels {
			copied.Labels = append(copied.Labels, Label{Name: strings.Clone(label.Name), Value: strings.Clone(label.Value)})
		}
		groups = append(groups, copied)
	}, matchers...)
	return groups, warnings, err
}

// EachGroup is CountBy without copies: the labels of a group are valid during the call of each, and their strings as
// long as the blocks stay open.
func (q *Querier) EachGroup(
	ctx context.Context, names []string, each func(Group), matchers ...Matcher,
) (warnings []error, err error) {
	// C reads names during the call only.
	var pinned runtime.Pinner
	defer pinned.Unpin()
	list := make([]C.cx_string, len(names))
	for i, name := range names {
		list[i] = pin(&pinned, name)
	}
	var found *C.cx_groups
	warnings, err = q.query(ctx, matchers, func(query *C.cx_query, failure *C.cx_error) C.cx_status {
		first := unsafe.SliceData(list)
		return C.cx_query_group(q.blocks.handle, query, first, C.size_t(len(list)), false, &found, failure)
	})
	defer C.cx_groups_free(found)
	var labels []Label
	for _, group := range unsafe.Slice(C.cx_groups_items(found), C.cx_groups_count(found)) {
		labels = labels[:0]
		for _, label := range unsafe.Slice(group.labels, group.label_count) {
			labels = append(labels, Label{
				Name: unsafeString(label.name, label.name_len), Value: unsafeString(label.value, label.value_len),
			})
		}
		each(Group{Labels: labels, Series: uint64(group.series_count)})
	}
	return warnings, err
}

// pin returns a string for C, which stays where it is until pinned ends.
func pin(pinned *runtime.Pinner, text string) C.cx_string {
	if len(text) > 0 {
		pinned.Pin(unsafe.StringData(text))
	}
	return C.cx_string{data: (*C.char)(unsafe.Pointer(unsafe.StringData(text))), len: C.size_t(len(text))}
}
