//go:build interop

package tshark

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/matrix"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// fewest is how many cells must have a configuration for it to be tried here.
const fewest = 10

// tshark reads the same headers as the cells of the matrix want, of calls, replies and RDMA_DONEs. What it does not do is to skip padding:
// it knows the alignment and the threshold of an RDMA_MSGP, but shows the message behind them as if there were none. Nor does it put read chunks of replies in their places.
func TestMatrix(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, cells := range matrix.Groups() {
			if len(cells) < fewest {
				continue
			}
			t.Run(fmt.Sprintf("%v/%s and others", d, cells[0].Name), func(t *testing.T) {
				t.Parallel()
				var said [2][]string
				observeMessages(t, &said, func(ctx context.Context, l transport.Listener, dial transport.Dialer) {
					matrixSession(ctx, t, l, dial, d, cells)
				})
				wants := matrixWants(cells, d)
				for i, from := range []string{"client", "server"} {
					if len(said[i]) != len(wants[i]) {
						t.Errorf("from the %s: %d messages, want %d", from, len(said[i]), len(wants[i]))
					}
					for j := range min(len(said[i]), len(wants[i])) {
						if said[i][j] != wants[i][j] {
							t.Errorf("from the %s, message %d: %s\nwant %s", from, j, said[i][j], wants[i][j])
						}
					}
				}
			})
		}
	}
}

// matrixSession makes the calls of the cells, one after the other, on one connection.
func matrixSession(ctx context.Context, t *testing.T, l transport.Listener, dial transport.Dialer, d rpcrdma.Dialect, cells []*matrix.Cell) {
	t.Helper()
	s := matrix.NewServer(cells...)
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, s.Server, matrix.Config(cells[0].Server, d)) }()
	conn, err := rpcrdma.Dial(ctx, dial, l.Addr().String(), matrix.Config(cells[0].Client, d))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cells {
		err := c.Call(ctx, conn, uint32(i+1))
		var peer *rpcrdma.PeerError
		if refused := strings.HasPrefix(c.Dialect(d).Reply, "ERROR"); refused != errors.As(err, &peer) || !refused && err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	conn.Close()
	<-conn.Done()
	s.Close()
	if err := errors.Join(<-served, s.Err()); !errors.Is(err, oncrpc.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// notShown is what tshark does not say of messages.
var notShown = regexp.MustCompile(` pad \d+`)

// matrixWants returns the messages of a session in both directions.
func matrixWants(cells []*matrix.Cell, d rpcrdma.Dialect) (wants [2][]string) {
	for _, c := range cells {
		w := c.Dialect(d)
		wants[0] = append(wants[0], notShown.ReplaceAllString(w.Call, ""))
		wants[1] = append(wants[1], notShown.ReplaceAllString(w.Reply, ""))
		if strings.Contains(w.Reply, " read ") {
			wants[0] = append(wants[0], "DONE 16")
		}
	}
	return wants
}

// observeMessages captures a session and returns what tshark says of the messages from the client and from the server, in the words of matrix.Want.
func observeMessages(t *testing.T, said *[2][]string, session func(context.Context, transport.Listener, transport.Dialer)) {
	t.Helper()
	for range tries {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		l, d := setup(t, iwarp.Config{}, iwarp.Config{})
		port := l.Addr().(*net.TCPAddr).Port
		c := startCapture(t, port)
		session(ctx, l, d)
		packets := dissect(t, c.stop(t))
		if flows := decode(t, packets, port); flows[0].disorder || flows[1].disorder {
			t.Log("TCP has repeated something, or the capture is not in order; once more")
			continue
		}
		*said = [2][]string{}
		for i := range packets {
			p := &packets[i]
			from := 0
			if p.segment(t).source == port {
				from = 1
			}
			ulpdu := 0
			for j := range p.Protos {
				switch proto := &p.Protos[j]; proto.Name {
				case "iwarp_mpa":
					ulpdu = proto.number("iwarp_mpa.ulpdulength")
				case "rpcordma":
					said[from] = append(said[from], describe(proto, ulpdu-untaggedLen))
				case "_ws.malformed", "_ws.short":
					t.Errorf("packet %d: %s", i, proto.ShowName)
				}
			}
		}
		return
	}
	t.Fatalf("no capture of %d has TCP in order", tries)
}

// describe returns a message in the words of matrix.Want.
func describe(p *proto, length int) string {
	var s strings.Builder
	names := []string{"MSG", "NOMSG", "MSGP", "DONE", "ERROR"}
	typ := p.number("rpcordma.msg_type")
	fmt.Fprintf(&s, "%s %d", names[typ], length)
	if p.has("rpcordma.errcode") {
		fmt.Fprintf(&s, " %s", map[int]string{1: "ERR_VERS", 2: "ERR_CHUNK"}[p.number("rpcordma.errcode")])
	}
	if p.has("rpcordma.rdma_align") {
		fmt.Fprintf(&s, " align %d thresh %d", p.number("rpcordma.rdma_align"), p.number("rpcordma.rdma_thresh"))
	}
	chunk, position, join := "", -1, ""
	p.walk(func(f *field) {
		switch f.Name {
		case "rpcordma.reads_count":
			chunk = "read"
		case "rpcordma.writes_count":
			chunk = "write"
		case "rpcordma.reply_count":
			chunk = "reply"
		case "rpcordma.position":
			var at int
			fmt.Sscan(f.Show, &at)
			join = fmt.Sprintf(" read %d:", at)
			if at == position {
				join = "+"
			}
			position = at
		case "rpcordma.segment_count":
			fmt.Fprintf(&s, " %s", chunk)
			join = " "
			if f.Show == "0" {
				s.WriteString(" -")
			}
		case "rpcordma.rdma_length":
			s.WriteString(join + f.Show)
			join = "+"
		}
	})
	return s.String()
}
