package cli

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Table is rows of as many cells each. The first column is of names, the others are of numbers.
type Table [][]string

// Write writes it with columns that are as wide as need be.
func (t Table) Write(w io.Writer) error {
	width := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b []byte
	for _, row := range t {
		b = fmt.Appendf(b, "%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			b = fmt.Appendf(b, " %*s", width[i+1], cell)
		}
		b = append(b, '\n')
	}
	_, err := w.Write(b)
	return err
}
