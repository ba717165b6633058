package cli

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Table is rows with the same number of cells. The first column has names, the others numbers.
type Table [][]string

// Write prints the rows with aligned columns.
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
