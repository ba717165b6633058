//go:build interop

package tshark

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/matrix"
)

// together is how many sessions share a capture. A capture takes a second to start, and all its
// sessions are lost if TCP retransmits.
const together = 6

// tshark reads the headers that the cells of the matrix expect, of calls, replies and RDMA_DONEs.
// It finds every posted message with its bytes. RPC messages are complete, and replies return the
// segments that their calls offered. Two things tshark does not do: it does not skip padding,
// although it decodes the alignment and threshold of an RDMA_MSGP, and it does not put the read
// chunks of replies in their places.
func TestMatrix(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for groups := range slices.Chunk(matrix.Groups(), together) {
			t.Run(fmt.Sprintf("%v/%s and others", d, groups[0][0].Name), func(t *testing.T) {
				t.Parallel()
				var sessions []session
				for _, cells := range groups {
					sessions = append(sessions, func(ctx context.Context, l, dial *counted) { matrixSession(ctx, t, l, dial, d, cells) })
				}
				for i, got := range observeSessions(t, sessions) {
					got.check(t, groups[i], d)
				}
			})
		}
	}
}

// check compares tshark's view of a session with the expectations of the cells.
func (s *seen) check(t *testing.T, cells []*matrix.Cell, d rpcrdma.Dialect) {
	t.Helper()
	wants := matrixWants(cells, d)
	posted := [2]map[opcode]messages{posted(s.posted[0], s.posted[1], nil), posted(s.posted[1], s.posted[0], nil)}
	refused := make(map[int]bool) // by transaction: calls that need not be read
	for _, m := range s.said[1] {
		refused[m.xid] = strings.HasPrefix(m.text, "ERROR")
	}
	for i, from := range []string{"client", "server"} {
		said := s.said[i]
		if len(said) != len(wants[i]) {
			t.Errorf("%s and others, from the %s: %d messages, want %d", cells[0].Name, from, len(said), len(wants[i]))
		}
		whole := 0
		for _, m := range said {
			if m.hasRPC() && !refused[m.xid] {
				whole++
			}
		}
		if n := s.flows[i].RPC; n < whole {
			t.Errorf("%s and others, from the %s: %d RPC messages come out whole, want %d at least", cells[0].Name, from, n, whole)
		}
		for j := range min(len(said), len(wants[i])) {
			if said[j].text != wants[i][j] {
				t.Errorf("%s and others, from the %s, message %d: %s\nwant %s", cells[0].Name, from, j, said[j].text, wants[i][j])
			}
		}
		if diff := cmp.Diff(posted[i], s.flows[i].Ops); diff != "" {
			t.Errorf("%s and others, from the %s (-posted +seen):\n%s", cells[0].Name, from, diff)
		}
		for _, p := range s.flows[i].Problems {
			t.Errorf("%s and others, from the %s: %s", cells[0].Name, from, p)
		}
	}
	offered := make(map[int][]string) // by transaction
	for _, m := range s.said[0] {
		if m.text != "DONE 16" {
			offered[m.xid] = m.targets
		}
	}
	for _, m := range s.said[1] {
		if o, ok := offered[m.xid]; !ok || m.targets != nil && !slices.Equal(m.targets, o) {
			t.Errorf("%s and others: a reply to transaction %#x, of which the call offers %q, returns %q", cells[0].Name, m.xid, o, m.targets)
		}
	}
}

// matrixSession makes the calls of the cells one after the other on one connection.
func matrixSession(ctx context.Context, t *testing.T, l, dial *counted, d rpcrdma.Dialect, cells []*matrix.Cell) {
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

// notShown matches what tshark does not show of messages.
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

// described is a message.
type described struct {
	text    string // in the words of matrix.Want
	xid     int
	targets []string // handles and offsets of the segments of write and reply chunks
}

// hasRPC reports whether tshark should put the RPC message together. It may fail to if chunks have
// several segments, or with padding.
func (d *described) hasRPC() bool {
	kind, _, _ := strings.Cut(d.text, " ")
	return (kind == "MSG" || kind == "NOMSG") && !strings.Contains(d.text, "+")
}

// describe returns what tshark says of a message.
func describe(p *proto, length int) described {
	var s strings.Builder
	d := described{xid: p.number("rpcordma.xid")}
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
		case "rpcordma.rdma_handle", "rpcordma.rdma_offset":
			if chunk != "read" {
				d.targets = append(d.targets, f.Show)
			}
		}
	})
	d.text = s.String()
	return d
}
