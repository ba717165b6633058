package matrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an event that must come.
const patience = hang.Patience

// providers are the providers that the cells run over.
var providers = []struct {
	name   string
	copies bool // tap.copies
	device bool // transporttest.Device
	new    func(testing.TB) (transport.Listener, transport.Dialer)
}{
	{"loopback", false, false, newLoopback},
	{"copying", true, false, newLoopback},
	{"device", false, true, newLoopback},
	{"iwarp", false, false, func(t testing.TB) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{}
	}},
	{"sctp", false, false, func(t testing.TB) (transport.Listener, transport.Dialer) {
		return sctprig.Listen(t, iwarp.Config{}, sctp.Config{})
	}},
}

func newLoopback(t testing.TB) (transport.Listener, transport.Dialer) {
	f := loopback.New()
	l, err := f.Listen("", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // both ends have ended
		if n, bytes := f.Domain().Allocated(); n > 0 {
			t.Errorf("%d slices of memory have not been given back, %d bytes", n, bytes)
		}
	})
	return l, f.Dialer(loopback.Config{})
}

var dialects = []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft}

// everywhere runs a test in the given dialects over every provider, and records the traffic.
func everywhere(t *testing.T, dialects []rpcrdma.Dialect, f func(*testing.T, rpcrdma.Dialect, *tap, transport.Listener, transport.Dialer)) {
	for _, p := range providers {
		for _, d := range dialects {
			t.Run(p.name+"/"+d.String(), func(t *testing.T) {
				tap := &tap{copies: p.copies}
				l, dial := p.new(t)
				l = transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint {
					return tap.endpoint(ep, server)
				})
				dial = transport.WrapDialer(dial, func(ep transport.Endpoint) transport.Endpoint {
					return tap.endpoint(ep, client)
				})
				if p.device {
					l, dial = transporttest.Device(l, dial)
				}
				f(t, d, tap, l, dial)
			})
		}
	}
}

// TestCells: every cell puts the expected messages on the wire, and its data arrives unchanged in
// both directions.
func TestCells(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Cells() {
		if seen[c.Name] {
			t.Fatalf("two cells %q", c.Name)
		}
		seen[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, dialects, func(t *testing.T, d rpcrdma.Dialect, tap *tap, l transport.Listener, dial transport.Dialer) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				o, err := c.Run(ctx, d, l, dial)
				if err != nil {
					t.Error(err)
				}
				c.check(t, d, o, tap)
			})
		})
	}
}

// check checks the record of a cell.
func (c *Cell) check(t *testing.T, d rpcrdma.Dialect, o Outcome, tap *tap) {
	t.Helper()
	want := c.Dialect(d)
	a := newAudit(d, c.Client, c.Server)
	a.refuses = want.Err != nil
	if err := a.run(tap.events()); err != nil {
		t.Error(err)
	}
	var x *exchange // all but the call of procedure 0 after it
	switch n := len(a.exchanges) - 1; {
	case n == 1:
		x = a.exchanges[0]
		c.compare(t, want, x, 1)
	case n != 0 || want.Call != "":
		t.Fatalf("%d calls", n)
	}
	c.compareError(t, want, o.Err)
	dones := uint64(0)
	if x != nil && x.done != nil {
		dones = 1
	}
	if o.Stats.DonesSent != dones {
		t.Errorf("%d DONEs are counted, want %d", o.Stats.DonesSent, dones)
	}
}

// compare compares the record with the expected messages.
func (c *Cell) compare(t *testing.T, want *Want, x *exchange, proc uint32) {
	t.Helper()
	if x.sawCall != want.Call {
		t.Errorf("%s: the call is  %s\nwant %s", c.Name, x.sawCall, want.Call)
	}
	if x.sawBack != want.Reply {
		t.Errorf("%s: the reply is  %s\nwant %s", c.Name, x.sawBack, want.Reply)
	}
	if x.replyHeader.proc == fault || want.Err != nil {
		return
	}
	if b := callBytes(x.callHeader.xid, proc, c.Args); !bytes.Equal(x.args, b) {
		t.Errorf("%s: the call is %d bytes, not the %d that were encoded", c.Name, len(x.args), len(b))
	}
	if b := replyBytes(x.callHeader.xid, proc, c.Results); !bytes.Equal(x.results, b) {
		t.Errorf("%s: the reply is %d bytes, not the %d that were encoded", c.Name, len(x.results), len(b))
	}
}

// compareError compares the caller's error with the expected one.
func (c *Cell) compareError(t *testing.T, want *Want, err error) {
	t.Helper()
	refused := want.Err == nil && want.Reply == refused
	ok := false
	switch wanted := want.Err.(type) { //nolint:errorlint // the value comes from the table
	case *oncrpc.CallTooLongError:
		var got *oncrpc.CallTooLongError
		ok = errors.As(err, &got) && *got == *wanted
	case *oncrpc.ReplyTooLongError:
		var got *oncrpc.ReplyTooLongError
		ok = errors.As(err, &got) && *got == *wanted
	default:
		ok = errors.Is(err, want.Err)
	}
	if refused {
		c.compareRefusal(t, want, err)
	} else if !ok {
		t.Errorf("%s: the caller's error is %v, want %v", c.Name, err, want.Err)
	}
}

// compareRefusal compares the caller's error with that of an RDMA_ERROR. It checks that the error
// distinguishes a reply that was too long from a call that may be too long because it must be read.
func (c *Cell) compareRefusal(t *testing.T, want *Want, err error) {
	t.Helper()
	var peer *rpcrdma.PeerError
	if !errors.As(err, &peer) || peer.Code != rpcrdma.ErrChunk {
		t.Errorf("%s: the caller's error is %v, want that of an RDMA_ERROR", c.Name, err)
	}
	var tooLong *oncrpc.ReplyTooLongError
	plain := strings.HasPrefix(want.Call, "MSG ") && !strings.Contains(want.Call, " read ")
	if got := errors.As(err, &tooLong); got != plain {
		t.Errorf("%s: %v is a *ReplyTooLongError: %v, want %v", c.Name, err, got, plain)
	}
}

// newAudit returns an audit of two ends that both run our code.
func newAudit(d rpcrdma.Dialect, c, s rpcrdma.Config) *audit {
	return &audit{
		draft:   d == rpcrdma.Draft,
		ours:    [2]bool{true, true},
		limit:   [2]int{inlineLimit(c.InlineSend, s.InlineRecv, c, s), inlineLimit(s.InlineSend, c.InlineRecv, c, s)},
		segment: [2]int{cmp.Or(c.SegmentSize, 1<<20), cmp.Or(s.SegmentSize, 1<<20)},
	}
}

// inlineLimit is the longest Send that both the sender and the receiver allow.
func inlineLimit(send, recv int, c, s rpcrdma.Config) int {
	if c.NoPrivateData || s.NoPrivateData {
		return 1024
	}
	return min(cmp.Or(send, 4096), cmp.Or(recv, 4096))
}
