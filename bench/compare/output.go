package main

import (
	"io"
	"os"
)

// output is a file for results. It is opened before the measurements, so that errors show early. It
// keeps its old content until there are results.
type output struct {
	file   *os.File // nil if none is wanted or opening failed
	failed error
}

// newOutput opens a file, unless name is empty.
func newOutput(name string) (o output) {
	if name != "" {
		o.file, o.failed = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666) // nil if it fails
	}
	return o
}

// write writes the results, if there are any, to the file, if there is one.
func (o output) write(results []result, how func(io.Writer, []result) error) error {
	if o.file == nil || len(results) == 0 {
		return nil
	}
	if info, err := o.file.Stat(); err == nil && info.Mode().IsRegular() { // not a pipe
		if err := o.file.Truncate(0); err != nil {
			return err
		}
	}
	return how(o.file, results)
}

// close closes the file, if there is one.
func (o output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
