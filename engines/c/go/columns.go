package chronoxide

/*
#include <chronoxide.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// ValueType is the type of the values of a Column.
type ValueType int

const (
	Int64Values  ValueType = C.CX_VALUE_I64
	Uint64Values ValueType = C.CX_VALUE_U64
	BytesValues  ValueType = C.CX_VALUE_BYTES
)

// Merge is the way to combine the values of series that a merge makes one.
type Merge int

const (
	MergeDrop   Merge = C.CX_MERGE_DROP
	MergeSame   Merge = C.CX_MERGE_SAME
	MergeMin    Merge = C.CX_MERGE_MIN
	MergeMax    Merge = C.CX_MERGE_MAX
	MergeSum    Merge = C.CX_MERGE_SUM
	MergeOr     Merge = C.CX_MERGE_OR
	MergeNewest Merge = C.CX_MERGE_NEWEST
)

// ColumnInfo has facts about a column of values.
type ColumnInfo struct {
	Name  string
	Type  ValueType
	Merge Merge
}

func copiedInfo(info *C.cx_column_info) ColumnInfo {
	name := C.GoStringN(info.name.data, C.int(info.name.len))
	return ColumnInfo{Name: name, Type: ValueType(info.value_type), Merge: Merge(info.merge)}
}

// Columns returns facts about the columns of the blocks, in the byte order of their names. Columns of one name with
// different types or ways to merge are an error that names both blocks.
func (b *Blocks) Columns() ([]ColumnInfo, error) {
	var columns *C.cx_columns
	var failure C.cx_error
	if err := check(C.cx_blocks_columns(b.handle, &columns, &failure), &failure); err != nil {
		return nil, err
	}
	defer C.cx_columns_free(columns)
	var list []ColumnInfo
	for _, info := range unsafe.Slice(C.cx_columns_items(columns), C.cx_columns_count(columns)) {
		list = append(list, copiedInfo(&info))
	}
	return list, nil
}

// Column has the values that an engine keeps of each series: an integer or bytes, or none. Its methods may be called
// from several goroutines at once. It keeps the blocks open until Close.
type Column struct {
	handle *C.cx_column
	info   ColumnInfo
}

// Column returns the column with a name, or nil if no block has it.
func (b *Blocks) Column(name string) (*Column, error) {
	var handle *C.cx_column
	var failure C.cx_error
	text := (*C.char)(unsafe.Pointer(unsafe.StringData(name)))
	status := C.cx_column_find(b.handle, text, C.size_t(len(name)), &handle, &failure)
	if err := check(status, &failure); err != nil || handle == nil {
		return nil, err
	}
	column := &Column{handle: handle}
	// For callers that do not close the column.
	runtime.SetFinalizer(column, (*Column).Close)
	var info C.cx_column_info
	if err := check(C.cx_column_describe(handle, &info, &failure), &failure); err != nil {
		return nil, err
	}
	column.info = copiedInfo(&info)
	return column, nil
}

// Info returns facts about the column.
func (c *Column) Info() ColumnInfo { return c.info }

// Close releases the column.
func (c *Column) Close() {
	C.cx_column_free(c.handle)
	c.handle = nil
	runtime.SetFinalizer(c, nil)
}

// ReadInt64 reads the values of series of a column of type Int64Values. The three slices have one length. present is
// false, and the value 0, for a series without a value, one of a block that does not have the column, and an id that
// no block has. A call costs one crossing to C and a look at each block: read many series at once.
func (c *Column) ReadInt64(ids []SeriesID, values []int64, present []bool) error {
	if err := sameLen(len(ids), len(values), len(present)); err != nil {
		return err
	}
	var failure C.cx_error
	status := C.cx_column_read_i64(c.handle, cIDs(ids), C.size_t(len(ids)),
		(*C.int64_t)(unsafe.SliceData(values)), (*C.bool)(unsafe.SliceData(present)), &failure)
	runtime.KeepAlive(c)
	return check(status, &failure)
}

// ReadUint64 reads the values of series of a column of type Uint64Values, as ReadInt64 does.
func (c *Column) ReadUint64(ids []SeriesID, values []uint64, present []bool) error {
	if err := sameLen(len(ids), len(values), len(present)); err != nil {
		return err
	}
	var failure C.cx_error
	status := C.cx_column_read_u64(c.handle, cIDs(ids), C.size_t(len(ids)),
		(*C.uint64_t)(unsafe.SliceData(values)), (*C.bool)(unsafe.SliceData(present)), &failure)
	runtime.KeepAlive(c)
	return check(status, &failure)
}

// BytesView is bytes in a block: they are valid as long as the column is not closed.
type BytesView struct{ bytes C.cx_bytes }

// Bytes returns the bytes, without a copy; nil without a value.
func (v BytesView) Bytes() []byte {
	return unsafe.Slice((*byte)(v.bytes.data), v.bytes.len)
}

// ViewBytes reads the values of series of a column of type BytesValues, as ReadInt64 does, without copies. Both slices
// have one length.
func (c *Column) ViewBytes(ids []SeriesID, values []BytesView) error {
	if err := sameLen(len(ids), len(values), len(values)); err != nil {
		return err
	}
	var failure C.cx_error
	first := (*C.cx_bytes)(unsafe.Pointer(unsafe.SliceData(values)))
	status := C.cx_column_read_bytes(c.handle, cIDs(ids), C.size_t(len(ids)), first, &failure)
	runtime.KeepAlive(c)
	return check(status, &failure)
}

// ReadBytes reads values as ViewBytes does, and copies them. A series without a value has nil, and one with an empty
// value an empty slice.
func (c *Column) ReadBytes(ids []SeriesID, values [][]byte) error {
	if err := sameLen(len(ids), len(values), len(values)); err != nil {
		return err
	}
	found := make([]BytesView, len(ids))
	if err := c.ViewBytes(ids, found); err != nil {
		return err
	}
	// One allocation for all of them.
	length := 0
	for _, view := range found {
		length += len(view.Bytes())
	}
	copies := make([]byte, 0, length)
	for i, view := range found {
		values[i] = nil
		if bytes := view.Bytes(); bytes != nil {
			start := len(copies)
			copies = append(copies, bytes...)
			values[i] = copies[start:len(copies):len(copies)]
		}
	}
	// The bytes are those of the blocks, which the column keeps.
	runtime.KeepAlive(c)
	return nil
}

func sameLen(ids, values, present int) error {
	if ids == values && ids == present {
		return nil
	}
	return &Error{Status: C.CX_USAGE, Message: fmt.Sprintf("%d ids, but room for %d values and %d flags", ids, values, present)}
}

// cIDs returns the ids as C has them: both structs have 16 bytes and a number of 32 bits.
func cIDs(ids []SeriesID) *C.cx_series_id {
	return (*C.cx_series_id)(unsafe.Pointer(unsafe.SliceData(ids)))
}

// These do not compile if the layouts differ.
var (
	_ [unsafe.Sizeof(SeriesID{})]byte          = [C.sizeof_cx_series_id]byte{}
	_ [unsafe.Offsetof(SeriesID{}.Series)]byte = [unsafe.Offsetof(C.cx_series_id{}.series)]byte{}
	_ [unsafe.Sizeof(false)]byte               = [C.sizeof_bool]byte{}
)
