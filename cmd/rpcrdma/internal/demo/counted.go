package demo

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// mechanisms counts how often the two ends used the draft's mechanisms.
type mechanisms struct {
	dones   uint64 // that the client has sent
	roundUp int64  // bytes
	server  rpcrdma.Stats
}

// count adds the counters of a client's connection, when the server has received all that was sent
// on it.
func (d *draft) count(ctx context.Context, conn *rpcrdma.Conn) error {
	if err := nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx); err != nil {
		return err
	}
	d.counted.dones += conn.Stats().DonesSent
	d.counted.server = d.server.ends.stats()
	return nil
}

// print prints them as a table.
func (m *mechanisms) print(out io.Writer, sum row) {
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	line := func(what, client, server string) { fmt.Fprintf(w, "%s\t%s\t%s\n", what, client, server) }
	n := func(format string, n any) string { return fmt.Sprintf(format, n) }
	line("mechanism", "client", "server")
	line("RDMA_MSGP", n("%d sent", sum.padded), n("%d received", m.server.Padded))
	line("replies with a read list", n("%d read", sum.dones), n("%d withheld for a while", m.server.Withheld))
	line("of these long, RDMA_NOMSG", n("%d read", sum.longReplies), "-")
	line("RDMA_DONE", n("%d sent", m.dones), n("%d received", m.server.DonesReceived))
	line("round-up in write chunks", n("%d bytes counted, not sent", m.roundUp), "-")
	w.Flush()
}
