// Package chronoxide queries Chronoxide blocks and folders of blocks, through the C library of engines/c.
//
// It shows how an engine written in Go uses the library, in the shape of Prometheus's storage.Querier, and depends on
// nothing but cgo and pkg-config. Strings are copied out of the blocks, and are valid after everything is closed, but for
// those of a Batch, of views and of EachGroup, which point into open blocks.
package chronoxide

/*
#cgo pkg-config: chronoxide
#include <chronoxide.h>
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"fmt"
	"strings"
	"unsafe"
)

// Error is an error of the library.
type Error struct {
	// Status is one of CX_... in chronoxide.h.
	Status  int
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("chronoxide: %s (status %d)", e.Message, e.Status)
}

// Is makes errors.Is(err, context.Canceled) true for a query that its context cancelled.
func (e *Error) Is(target error) bool {
	return e.Status == C.CX_CANCELLED && target == context.Canceled
}

// check returns the error of a call, or nil. The error is the caller's, so it does not matter which thread a goroutine
// runs on.
func check(status C.cx_status, failure *C.cx_error) error {
	if status == C.CX_OK {
		return nil
	}
	return &Error{Status: int(status), Message: C.GoString(&failure.message[0])}
}

// MatchType is the comparison of a Matcher. The numbers are those of Prometheus's labels package.
type MatchType int

const (
	MatchEqual     MatchType = C.CX_OPERATOR_EQUAL
	MatchNotEqual  MatchType = C.CX_OPERATOR_NOT_EQUAL
	MatchRegexp    MatchType = C.CX_OPERATOR_MATCHES
	MatchNotRegexp MatchType = C.CX_OPERATOR_NOT_MATCHES
)

// Matcher is a condition on the value of a label. An absent label has the empty value.
type Matcher struct {
	Type        MatchType
	Name, Value string
}

// Blocks is a snapshot of a block, or of the live blocks of a folder. Its methods may be called from several goroutines
// at once, but not together with Close.
type Blocks struct {
	handle *C.cx_blocks
}

// Open maps a block, or the live blocks of a folder. Files may be deleted or replaced by renaming meanwhile, but not be
// changed in place. Warnings has the errors of files of a folder that are not valid blocks.
func Open(path string) (blocks *Blocks, warnings []error, err error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var failure C.cx_error
	options := C.cx_open_options{skip_damaged: true}
	blocks = &Blocks{}
	if err := check(C.cx_blocks_map(text, &options, &blocks.handle, &failure), &failure); err != nil {
		return nil, nil, err
	}
	return blocks, failures(C.cx_blocks_damaged(blocks.handle)), nil
}

// Refresh opens the same path as it is now, and keeps what it knows of blocks that are still there. The old snapshot
// stays valid: close it to release deleted files.
func (b *Blocks) Refresh() (fresh *Blocks, warnings []error, err error) {
	var failure C.cx_error
	fresh = &Blocks{}
	if err := check(C.cx_blocks_refresh(b.handle, &fresh.handle, &failure), &failure); err != nil {
		return nil, nil, err
	}
	return fresh, failures(C.cx_blocks_damaged(fresh.handle)), nil
}

// Close releases the blocks. Series sets that came from them stay valid.
func (b *Blocks) Close() {
	C.cx_blocks_free(b.handle)
	b.handle = nil
}

// failures returns the errors of single blocks.
func failures(all *C.cx_failures) []error {
	var list []error
	for i := C.size_t(0); i < C.cx_failures_count(all); i++ {
		var found C.cx_error
		C.cx_failures_get(all, i, &found)
		list = append(list, check(found.status, &found))
	}
	return list
}

// newSelector compiles matchers. The caller frees the result.
func newSelector(matchers []Matcher) (*C.cx_selector, error) {
	// C may not keep pointers to Go's memory: names and values are copied.
	list := (*C.cx_matcher)(C.calloc(C.size_t(len(matchers))+1, C.sizeof_cx_matcher))
	defer C.free(unsafe.Pointer(list))
	for i, own := range unsafe.Slice(list, len(matchers)) {
		matcher := matchers[i]
		own.name, own.name_len = C.CString(matcher.Name), C.size_t(len(matcher.Name))
		own.value, own.value_len = C.CString(matcher.Value), C.size_t(len(matcher.Value))
		own.op = C.cx_operator(matcher.Type)
		defer C.free(unsafe.Pointer(own.name))
		defer C.free(unsafe.Pointer(own.value))
		unsafe.Slice(list, len(matchers))[i] = own
	}
	var selector *C.cx_selector
	var failure C.cx_error
	status := C.cx_selector_new(list, C.size_t(len(matchers)), &selector, &failure)
	return selector, check(status, &failure)
}

// views returns the strings of a list, which are those of the blocks.
func views(list *C.cx_strings) []string {
	items := unsafe.Slice(C.cx_strings_items(list), C.cx_strings_count(list))
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = unsafeString(item.data, item.len)
	}
	return all
}

// copied returns copies of the strings of a list, in one allocation, which all of them share.
func copied(list *C.cx_strings) []string {
	all := views(list)
	var text strings.Builder
	total := 0
	for _, one := range all {
		total += len(one)
	}
	text.Grow(total)
	for _, one := range all {
		text.WriteString(one)
	}
	rest := text.String()
	for i, one := range all {
		all[i], rest = rest[:len(one)], rest[len(one):]
	}
	return all
}
