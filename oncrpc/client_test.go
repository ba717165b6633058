package oncrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// canned is a transport with the same reply to every call.
type canned struct {
	oncrpc.Transport
	reply    []byte
	err      error
	released releases

	call     []byte
	exchange oncrpc.Exchange
}

func (c *canned) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	c.call = x.Call.AppendTo(nil)
	c.exchange = *x
	c.exchange.Results = slices.Clone(x.Results) // the client reuses the array
	if c.err != nil {
		return c.err
	}
	x.SetReply(c.reply, nil, &c.released)
	return nil
}

func (c *canned) RemoteAddr() net.Addr { return addr("peer") }

const (
	replyHead = "01020304 00000001 "                      // xid, REPLY
	accepted  = replyHead + "00000000 00000000 00000000 " // MSG_ACCEPTED, AUTH_NONE
	denied    = replyHead + "00000001 "                   // MSG_DENIED
)

func TestClientReplies(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		want        string // error text after "rpc call ... to peer: ", or "" for success
	}{
		{"SUCCESS", accepted + "00000000 0000002a", ""},
		{"SUCCESS with verifier", replyHead + "00000000 00000006 00000003 010203 00 00000000 0000002a", ""},
		{"PROG_UNAVAIL", accepted + "00000001", "PROG_UNAVAIL"},
		{"PROG_MISMATCH", accepted + "00000002 00000002 00000004", "PROG_MISMATCH: the server has versions 2 to 4"},
		{"PROC_UNAVAIL", accepted + "00000003", "PROC_UNAVAIL"},
		{"GARBAGE_ARGS", accepted + "00000004", "GARBAGE_ARGS"},
		{"SYSTEM_ERR", accepted + "00000005", "SYSTEM_ERR"},
		{"RPC_MISMATCH", denied + "00000000 00000003 00000009", "RPC_MISMATCH: the server speaks RPC versions 3 to 9"},
		{"AUTH_OK", denied + "00000001 00000000", "denied: AUTH_OK"},
		{"AUTH_BADCRED", denied + "00000001 00000001", "denied: AUTH_BADCRED"},
		{"AUTH_REJECTEDCRED", denied + "00000001 00000002", "denied: AUTH_REJECTEDCRED"},
		{"AUTH_BADVERF", denied + "00000001 00000003", "denied: AUTH_BADVERF"},
		{"AUTH_REJECTEDVERF", denied + "00000001 00000004", "denied: AUTH_REJECTEDVERF"},
		{"AUTH_TOOWEAK", denied + "00000001 00000005", "denied: AUTH_TOOWEAK"},
		{"AUTH_INVALIDRESP", denied + "00000001 00000006", "denied: AUTH_INVALIDRESP"},
		{"AUTH_FAILED", denied + "00000001 00000007", "denied: AUTH_FAILED"},
		{"AUTH_KERB_GENERIC", denied + "00000001 00000008", "denied: AUTH_KERB_GENERIC"},
		{"AUTH_TIMEEXPIRE", denied + "00000001 00000009", "denied: AUTH_TIMEEXPIRE"},
		{"AUTH_TKT_FILE", denied + "00000001 0000000a", "denied: AUTH_TKT_FILE"},
		{"AUTH_DECODE", denied + "00000001 0000000b", "denied: AUTH_DECODE"},
		{"AUTH_NET_ADDR", denied + "00000001 0000000c", "denied: AUTH_NET_ADDR"},
		{"RPCSEC_GSS_CREDPROBLEM", denied + "00000001 0000000d", "denied: RPCSEC_GSS_CREDPROBLEM"},
		{"RPCSEC_GSS_CTXPROBLEM", denied + "00000001 0000000e", "denied: RPCSEC_GSS_CTXPROBLEM"},
		{"auth_stat of the future", denied + "00000001 0000000f", "denied: auth_stat 15"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := &canned{reply: unhex(t, tt.reply)}
			c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
			var got word
			err := c.Call(context.Background(), 1, nil, &got)
			switch {
			case tt.want == "" && (err != nil || got.n != 42):
				t.Errorf("got %d, %v, want 42", got.n, err)
			case tt.want != "":
				const prefix = "rpc call 536870915.3.1 to peer: "
				if err == nil || err.Error() != prefix+tt.want {
					t.Errorf("got %v, want %s", err, prefix+tt.want)
				}
				if errors.Is(err, oncrpc.ErrMalformedReply) {
					t.Errorf("a well-formed reply is ErrMalformedReply")
				}
			}
			if n := tr.released.Load(); n != 1 {
				t.Errorf("the reply was released %d times, want once", n)
			}

			for n := range tr.reply {
				tr := &canned{reply: tr.reply[:n]}
				c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
				if err := c.Call(context.Background(), 1, nil, &got); !errors.Is(err, oncrpc.ErrMalformedReply) {
					t.Errorf("%d of %d bytes: got %v, want ErrMalformedReply", n, len(tr.reply), err)
				}
				if n := tr.released.Load(); n != 1 {
					t.Errorf("%d bytes: the reply was released %d times, want once", n, n)
				}
			}
			tr = &canned{reply: append(tr.reply, 0, 0, 0, 0)}
			c = oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
			if err := c.Call(context.Background(), 1, nil, &got); !errors.Is(err, oncrpc.ErrMalformedReply) || !errors.Is(err, xdr.ErrTrailing) {
				t.Errorf("with bytes left over: got %v, want ErrMalformedReply and ErrTrailing", err)
			}
		})
	}
}

func TestClientMalformedReplies(t *testing.T) {
	for name, reply := range map[string]string{
		"call":                  "01020304 00000000 00000000 00000000 00000000 00000000 0000002a",
		"msg_type 2":            "01020304 00000002 00000000 00000000 00000000 00000000 0000002a",
		"reply_stat 2":          replyHead + "00000002 00000000 00000000 00000000 0000002a",
		"accept_stat 6":         accepted + "00000006 0000002a",
		"reject_stat 2":         denied + "00000002 00000001 00000001",
		"verifier of 401 bytes": replyHead + "00000000 00000000 00000191 " + fmt.Sprintf("%0*d", 2*404, 0) + "00000000 0000002a",
	} {
		tr := &canned{reply: unhex(t, reply)}
		c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
		if err := c.Call(context.Background(), 1, nil, new(word)); !errors.Is(err, oncrpc.ErrMalformedReply) {
			t.Errorf("%s: got %v, want ErrMalformedReply", name, err)
		}
	}
}

// The error of a reply with results says what is wrong with Request.Reply.
func TestClientUnfitReply(t *testing.T) {
	var short shortBuffer
	for _, tt := range []struct {
		name  string
		reply oncrpc.Unmarshaler
		is    error
		want  string
	}{
		{"no Reply", nil, xdr.ErrTrailing,
			"malformed reply: xdr: at byte 24: bytes left over: there are results, and Request.Reply is nil"},
		{"a short buffer", &short, xdr.ErrLimit,
			"malformed reply: xdr: at byte 28: 8 where 3 are allowed: length over the limit"},
	} {
		c := oncrpc.NewClient(&canned{reply: unhex(t, accepted+"00000000 00000008 6c6f6e676572 2121")},
			testProgram, testVersion, oncrpc.AuthNone())
		err := c.Call(t.Context(), 1, nil, tt.reply)
		if !errors.Is(err, tt.is) || !errors.Is(err, oncrpc.ErrMalformedReply) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// shortBuffer decodes opaque data of up to three bytes.
type shortBuffer [3]byte

func (b *shortBuffer) UnmarshalXDR(d *xdr.Decoder) { d.BulkInto(b[:]) }

// The arguments' bulk data is released once, however the call ends.
func TestClientReleases(t *testing.T) {
	wire := errors.New("wire cut")
	for name, tr := range map[string]*canned{
		"success":         {reply: unhex(t, accepted+"00000000")},
		"error reply":     {reply: unhex(t, accepted+"00000005")},
		"malformed reply": {reply: []byte{1}},
		"transport error": {err: wire},
	} {
		c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
		for i := range int32(3) { // the second time with used memory
			var rel releases
			err := c.Call(context.Background(), 1, bulk{[]byte("data"), &rel}, nil)
			if n := rel.Load(); n != 1 {
				t.Errorf("%s: released %d times, want once", name, n)
			}
			if tr.err != nil && !errors.Is(err, tr.err) {
				t.Errorf("%s: got %v", name, err)
			}
			if n := tr.released.Load(); tr.err == nil && n != i+1 {
				t.Errorf("%s: %d replies released after %d calls", name, n, i+1)
			}
		}
	}
}

// both encodes bulk data, then something that cannot be encoded.
type both struct{ bulk }

func (b both) MarshalXDR(e *xdr.Encoder) {
	b.bulk.MarshalXDR(e)
	e.String("too long", 3)
}

func TestClientEncodeError(t *testing.T) {
	tr := &canned{reply: unhex(t, accepted+"00000000")}
	c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
	var rel releases
	err := c.Call(context.Background(), 1, both{bulk{[]byte("data"), &rel}}, nil)
	if !errors.Is(err, xdr.ErrLimit) || tr.call != nil || rel.Load() != 1 {
		t.Errorf("got %v, called %v, released %d times", err, tr.call != nil, rel.Load())
	}
	if err := c.Call(context.Background(), 1, nil, nil); err != nil { // the same memory
		t.Errorf("next call: %v", err)
	}
	if _, err := oncrpc.FixedCred(oncrpc.Auth{Flavor: 9, Body: make([]byte, 401)}); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("with a credential of 401 bytes: got %v, want ErrLimit", err)
	}
}

// The fields of a request reach the transport.
func TestClientRequest(t *testing.T) {
	const header = 24 // of a reply with an empty verifier
	tr := &canned{reply: unhex(t, accepted+"00000000")}
	c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
	landing := [][]byte{make([]byte, 10)}
	for _, tt := range []struct{ maxReply, want int }{{0, oncrpc.DefaultMaxReply + header}, {1000, 1000 + header}} {
		if err := c.Do(context.Background(), &oncrpc.Request{MaxReply: tt.maxReply, Results: landing}); err != nil {
			t.Fatal(err)
		}
		if got := tr.exchange.MaxReply; got != tt.want {
			t.Errorf("MaxReply %d becomes %d, want %d", tt.maxReply, got, tt.want)
		}
		if got := tr.exchange.Results; len(got) != 1 || &got[0][0] != &landing[0][0] {
			t.Error("Results are lost")
		}
	}
	if c.Transport() != oncrpc.Transport(tr) {
		t.Error("Transport returns something else")
	}
}

func TestCallError(t *testing.T) {
	for _, tt := range []struct {
		err     error
		timeout bool
	}{{context.Canceled, false}, {context.DeadlineExceeded, true}, {os.ErrDeadlineExceeded, true}, {net.ErrClosed, false}} {
		c := oncrpc.NewClient(&canned{err: fmt.Errorf("wrapped: %w", tt.err)}, 1, 2, oncrpc.AuthNone())
		err := c.Call(context.Background(), 3, nil, nil)
		var call *oncrpc.CallError
		if !errors.As(err, &call) || !errors.Is(err, tt.err) || call.Timeout() != tt.timeout {
			t.Errorf("got %v, want a CallError that wraps %v, timeout %v", err, tt.err, tt.timeout)
		}
		if call.Program != 1 || call.Version != 2 || call.Procedure != 3 || call.Peer.String() != "peer" {
			t.Errorf("got %+v", call)
		}
	}
	if got, want := (&oncrpc.CallError{Err: net.ErrClosed}).Error(), "rpc call 0.0.0: "+net.ErrClosed.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Calls do not allocate.
func TestClientAllocations(t *testing.T) {
	tr := &free{reply: unhex(t, accepted+"00000000 0000002a")}
	c := oncrpc.NewClient(tr, testProgram, testVersion, mustAuthSys(oncrpc.SysCred{Machine: "m"}))
	args, reply := &bulk{data: make([]byte, 100)}, new(word)
	ctx := context.Background()
	if n := testing.AllocsPerRun(200, func() {
		if err := c.Call(ctx, 1, args, reply); err != nil {
			t.Fatal(err)
		}
	}); n > 0 && !raceEnabled {
		t.Errorf("%v allocations a call", n)
	}
}

// free is canned without records of its calls.
type free struct {
	oncrpc.Transport
	reply []byte
}

func (f *free) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	x.SetReply(f.reply, nil, nil)
	return nil
}

// roomy is a reply that says how much room it needs.
type roomy struct {
	word
	most  int
	into  [][]byte
	asked int
}

func (r *roomy) ReplyRoom(results [][]byte) (int, [][]byte) {
	r.asked++
	return r.most, append(results, r.into...)
}

// The room for a reply comes from the reply, unless the request sets it.
func TestSizedReply(t *testing.T) {
	const header = 24 // of a reply with an empty verifier
	tr := &canned{reply: unhex(t, accepted+"00000000 00000007")}
	c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
	mine, yours := [][]byte{make([]byte, 10), make([]byte, 20)}, [][]byte{make([]byte, 30)}
	for _, tt := range []struct {
		name     string
		request  oncrpc.Request
		reply    roomy
		asked    int
		maxReply int
		results  [][]byte
	}{
		{"both", oncrpc.Request{}, roomy{most: 100, into: mine}, 1, 100, mine},
		{"MaxReply alone", oncrpc.Request{}, roomy{most: 100}, 1, 100, nil},
		{"buffers alone", oncrpc.Request{}, roomy{into: yours}, 1, oncrpc.DefaultMaxReply, yours},
		{"nothing", oncrpc.Request{}, roomy{}, 1, oncrpc.DefaultMaxReply, nil},
		{"the request says MaxReply", oncrpc.Request{MaxReply: 200},
			roomy{most: 100, into: mine}, 0, 200, nil},
		{"the request names buffers", oncrpc.Request{Results: yours},
			roomy{most: 100, into: mine}, 0, oncrpc.DefaultMaxReply, yours},
		{"the request names no buffers", oncrpc.Request{Results: [][]byte{}},
			roomy{most: 100, into: mine}, 0, oncrpc.DefaultMaxReply, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.request.Reply = &tt.reply
			if err := c.Do(t.Context(), &tt.request); err != nil || tt.reply.n != 7 {
				t.Errorf("got %d, %v", tt.reply.n, err)
			}
			x := &tr.exchange
			same := slices.EqualFunc(x.Results, tt.results, func(a, b []byte) bool {
				return &a[0] == &b[0] && len(a) == len(b)
			})
			asked := tt.reply.asked
			if asked != tt.asked || x.MaxReply != header+tt.maxReply || !same {
				t.Errorf("asked %d times, MaxReply %d, %d buffers", asked, x.MaxReply, len(x.Results))
			}
		})
	}
}
