package matrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// providers are what the cells run over.
var providers = []struct {
	name string
	new  func(testing.TB) (transport.Listener, transport.Dialer)
}{
	{"loopback", func(t testing.TB) (transport.Listener, transport.Dialer) {
		f := loopback.New()
		l, err := f.Listen("", loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, f.Dialer(loopback.Config{})
	}},
	{"iwarp", func(t testing.TB) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{}
	}},
}

var dialects = []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft}

// everywhere runs a test in both dialects over every provider, with what passes recorded.
func everywhere(t *testing.T, f func(*testing.T, rpcrdma.Dialect, *tap, transport.Listener, transport.Dialer)) {
	for _, p := range providers {
		for _, d := range dialects {
			t.Run(p.name+"/"+d.String(), func(t *testing.T) {
				tap := &tap{}
				l, dial := p.new(t)
				f(t, d, tap, tappedListener{l, tap}, tappedDialer{dial, tap})
			})
		}
	}
}

// Every cell puts on the wire what it must, and gets there and back whole.
func TestCells(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Cells() {
		if seen[c.Name] {
			t.Fatalf("two cells %q", c.Name)
		}
		seen[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d rpcrdma.Dialect, tap *tap, l transport.Listener, dial transport.Dialer) {
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

// check checks what was recorded of a cell.
func (c *Cell) check(t *testing.T, d rpcrdma.Dialect, o Outcome, tap *tap) {
	t.Helper()
	want := c.Dialect(d)
	a := newAudit(d, c.Client, c.Server)
	if err := a.run(tap.events()); err != nil {
		t.Error(err)
	}
	var x *exchange // but for the call of procedure 0 behind it
	switch n := len(a.exchanges) - 1; {
	case n == 1:
		x = a.exchanges[0]
	case n != 0 || want.Call != "":
		t.Fatalf("%d calls", n)
	}
	if x != nil {
		if x.sawCall != want.Call {
			t.Errorf("the call is  %s\nwant        %s", x.sawCall, want.Call)
		}
		if x.sawBack != want.Reply {
			t.Errorf("the reply is  %s\nwant          %s", x.sawBack, want.Reply)
		}
		if b := callBytes(x.callHeader.xid, 1, c.Args); !bytes.Equal(x.args, b) {
			t.Errorf("the call is %d bytes, not the %d that were encoded", len(x.args), len(b))
		}
		if b := replyBytes(x.callHeader.xid, 1, c.Results); x.replyHeader.proc != fault && !bytes.Equal(x.results, b) {
			t.Errorf("the reply is %d bytes, not the %d that were encoded", len(x.results), len(b))
		}
	}
	var peer *rpcrdma.PeerError
	refused := x != nil && x.replyHeader.proc == fault && want.Err == nil
	switch {
	case refused && (!errors.As(o.Err, &peer) || uint32(peer.Code) != x.replyHeader.code):
		t.Errorf("the caller's error is %v, want that of an RDMA_ERROR", o.Err)
	case !refused && !errors.Is(o.Err, want.Err):
		t.Errorf("the caller's error is %v, want %v", o.Err, want.Err)
	}
	dones := uint64(0)
	if x != nil && x.done != nil {
		dones = 1
	}
	if o.Stats.DonesSent != dones {
		t.Errorf("%d DONEs are counted, want %d", o.Stats.DonesSent, dones)
	}
}

// newAudit returns the rules for two ends that are ours.
func newAudit(d rpcrdma.Dialect, c, s rpcrdma.Config) *audit {
	return &audit{
		draft:   d == rpcrdma.Draft,
		ours:    [2]bool{true, true},
		limit:   [2]int{inlineLimit(c.InlineSend, s.InlineRecv, c, s), inlineLimit(s.InlineSend, c.InlineRecv, c, s)},
		segment: [2]int{cmp.Or(c.SegmentSize, 1<<20), cmp.Or(s.SegmentSize, 1<<20)},
	}
}

// inlineLimit is the longest Send that both the sender and the receiver allow for.
func inlineLimit(send, recv int, c, s rpcrdma.Config) int {
	if c.NoPrivateData || s.NoPrivateData {
		return 1024
	}
	return min(cmp.Or(send, 4096), cmp.Or(recv, 4096))
}
