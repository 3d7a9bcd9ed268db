// Writes the series as an Arrow file: go run . FILE
package main

import (
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	text := arrow.BinaryTypes.String
	codes := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: text}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "__name__", Type: text},
		{Name: "job", Type: codes, Nullable: true},
		{Name: "tags", Type: arrow.MapOf(text, text), Nullable: true},
	}, nil)
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	names := builder.Field(0).(*array.StringBuilder)
	jobs := builder.Field(1).(*array.BinaryDictionaryBuilder)
	tags := builder.Field(2).(*array.MapBuilder)
	for _, row := range [][3]string{{"up", "api", "a"}, {"up", "", "b"}, {"down", "web-with-a-long-name-that-is-not-inline", "a"}} {
		names.Append(row[0])
		if row[1] == "" {
			jobs.AppendNull()
		} else if err := jobs.AppendString(row[1]); err != nil {
			log.Fatal(err)
		}
		tags.Append(true)
		tags.KeyBuilder().(*array.StringBuilder).Append("zone")
		tags.ItemBuilder().(*array.StringBuilder).Append(row[2])
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	writer, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
	if err != nil {
		log.Fatal(err)
	}
	if err := writer.Write(builder.NewRecord()); err != nil {
		log.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		log.Fatal(err)
	}
}
