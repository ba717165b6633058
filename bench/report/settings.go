package report

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// setting is a line to paste, and where to.
type setting struct{ Where, Text string }

// settings are what it takes to follow the recommendation: nothing if a part of it cannot be told,
// since the command is for both directions.
func settings(a *bench.Recommendation) []setting {
	largest := max(a.InlineSend, a.InlineRecv)
	if largest == 0 || len(a.Unsure) > 0 {
		return nil
	}
	var all []setting
	if a.Path != bench.Loopback { // which no other process can reach
		all = append(all, setting{"server", fmt.Sprintf("rpcrdma serve --inline %s", strings.ReplaceAll(bench.FormatSize(largest), " ", ""))})
	}
	return append(all,
		setting{"Go, client", config(a.InlineSend, a.InlineRecv, a.MinChunk)},
		setting{"Go, server", config(a.InlineRecv, a.InlineSend, a.MinChunk)})
}

// config writes a rpcrdma.Config; what is 0 stays at its default.
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
