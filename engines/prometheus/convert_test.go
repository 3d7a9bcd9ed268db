package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command returns the path of a command of Chronoxide: the tests run what users run.
func command(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv("CHRONOXIDE_COMMANDS")
	if folder == "" {
		t.Skip("CHRONOXIDE_COMMANDS is not the folder of the built commands: see test.sh")
	}
	return filepath.Join(folder, name)
}

// run runs a command, and returns its standard output.
func run(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	output, err := exec.Command(command(t, name), arguments...).Output()
	if err != nil {
		message := ""
		if exit, ok := err.(*exec.ExitError); ok {
			message = string(exit.Stderr)
		}
		t.Fatal(name, arguments, err, message)
	}
	return string(output)
}

// convert writes the labels and chunk lists of all blocks of a data folder to a new folder, which it returns.
func convert(t testing.TB, data string, options ...string) string {
	t.Helper()
	labels := t.TempDir()
	run(t, "chronoxide-ingest", append([]string{"--quiet", "--chunks", data, "-o", labels + "/"}, options...)...)
	return labels
}

// open opens a data folder and its converted labels.
func open(t testing.TB, labels, data string) *Queryable {
	t.Helper()
	queryable, warnings, err := Open(labels, data, Options{})
	// Random deletions can leave nothing.
	warnings = slices.DeleteFunc(warnings, func(warning error) bool {
		return strings.Contains(warning.Error(), "no block has chunk lists")
	})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	t.Cleanup(func() { queryable.Close() })
	return queryable
}
