package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// aboutRatio explains the column with the ratio.
const aboutRatio = "ratio to raw: throughput divided by that of raw TCP with the same size, " +
	"measured right before the point (loopback: of a memory copy). " +
	"Raw TCP does not wait for answers, so single calls of less than 64 KiB have no ratio: " +
	"compare their latency with raw TCP there and back. " +
	"MB and GB are 10^6 and 10^9 bytes, KiB and MiB 2^10 and 2^20 bytes"

// yardstick is a row of figures by size.
type yardstick struct {
	Name  string
	Cells []string // MB/s at each size
}

// yardsticks returns the sizes at which a yardstick was measured, and a row for each yardstick.
func yardsticks(y *bench.Yardsticks) (sizes []string, rows []yardstick) {
	all := make(map[int]bool)
	for _, f := range slices.Concat(y.Copy, y.TCP) {
		all[f.Size] = true
	}
	order := slices.Sorted(maps.Keys(all))
	for _, size := range order {
		sizes = append(sizes, bench.FormatSize(size))
	}
	for _, kind := range []struct {
		name    string
		figures []bench.Figure
	}{{"memory copy, MB/s", y.Copy}, {"raw TCP, MB/s", y.TCP}} {
		if len(kind.figures) == 0 {
			continue
		}
		row := yardstick{Name: kind.name}
		for _, size := range order {
			cell := none
			for _, f := range kind.figures {
				if f.Size == size {
					cell = number(f.Throughput / 1e6)
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return sizes, rows
}

// pingPong says how long raw TCP takes there and back; "" if it was not measured.
func pingPong(y *bench.Yardsticks) string {
	if y.PingPong == (bench.Latency{}) {
		return ""
	}
	return fmt.Sprintf("raw TCP, 128 B there and back: p50 %s us, p99 %s us, p99.9 %s us",
		number(microseconds(y.PingPong.P50)),
		number(microseconds(y.PingPong.P99)), number(microseconds(y.PingPong.P999)))
}

func writeYardsticks(w io.Writer, y *bench.Yardsticks) {
	sizes, rows := yardsticks(y)
	ping := pingPong(y)
	if len(rows) == 0 && ping == "" {
		return
	}
	fmt.Fprintln(w)
	if len(rows) > 0 {
		table := [][]string{append([]string{"yardsticks"}, sizes...)}
		for _, row := range rows {
			table = append(table, append([]string{row.Name}, row.Cells...))
		}
		writeAligned(w, table)
	}
	if ping != "" {
		fmt.Fprintf(w, "  %s\n", ping)
	}
	paragraph(w, "  ", aboutRatio)
}
