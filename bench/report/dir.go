package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// WriteDir writes r to dir, which it creates if necessary: results.csv, results.json, report.html,
// and each chart as a PNG file. It returns the paths of the files that it has written, even if it
// fails.
func WriteDir(dir string, r *bench.Result) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	write := func(name string, content func(io.Writer) error) error {
		var b bytes.Buffer
		if err := content(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			return err
		}
		files = append(files, path)
		return nil
	}

	all := charts(r)
	for _, f := range []struct {
		name    string
		content func(io.Writer) error
	}{
		{"results.csv", func(w io.Writer) error { return writeCSV(w, r) }},
		{"results.json", func(w io.Writer) error { return writeJSON(w, r) }},
		{"report.html", func(w io.Writer) error { return writePage(w, r, all) }},
	} {
		if err := write(f.name, f.content); err != nil {
			return files, err
		}
	}
	for i := range all {
		if err := write(all[i].name+".png", all[i].writePNG); err != nil {
			return files, err
		}
	}
	return files, nil
}
