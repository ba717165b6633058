package report

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// setting is a line to paste, and the place for it.
type setting struct{ Where, Text string }

// settings returns the lines that apply the recommendation. There are none if one direction is
// unsure, because the command sets both.
func settings(a *bench.Recommendation) []setting {
	largest := max(a.InlineSend, a.InlineRecv)
	if largest == 0 || len(a.Unsure) > 0 {
		return nil
	}
	var all []setting
	if a.Path != bench.Loopback { // no other process can reach it
		all = append(all, setting{"server", fmt.Sprintf("rpcrdma serve --inline %s",
			strings.ReplaceAll(bench.FormatSize(largest), " ", ""))})
	}
	return append(all,
		setting{"Go, client", config(a.InlineSend, a.InlineRecv, a.MinChunk)},
		setting{"Go, server", config(a.InlineRecv, a.InlineSend, a.MinChunk)})
}

// config writes an rpcrdma.Config. A 0 leaves a field at its default.
func config(send, recv, chunk int) string {
	var fields []string
	for _, f := range []struct {
		name string
		n    int
	}{{"InlineSend", send}, {"InlineRecv", recv}, {"MinChunk", chunk}} {
		if f.n > 0 {
			fields = append(fields, fmt.Sprintf("%s: %d", f.name, f.n))
		}
	}
	return "rpcrdma.Config{" + strings.Join(fields, ", ") + "}"
}
