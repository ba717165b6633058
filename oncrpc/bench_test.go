package oncrpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// benchCredentials are typical credentials: none, and a user with some groups.
func benchCredentials() map[string]oncrpc.Auth {
	return map[string]oncrpc.Auth{
		"AUTH_NONE": {},
		"AUTH_SYS":  mustSys(oncrpc.SysCred{Machine: "client", UID: 1000, GID: 1000, GIDs: gids(4)}),
	}
}

func flavorOf(tb testing.TB, cred oncrpc.Auth) oncrpc.ClientFlavor {
	f, err := oncrpc.FixedCred(cred)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func BenchmarkCallHeader(b *testing.B) {
	for name, cred := range benchCredentials() {
		h := oncrpc.CallHeader{XID: 1, RPCVersion: oncrpc.Version, Program: testProgram,
			Version: testVersion, Procedure: 1, Cred: cred}
		b.Run("encode/"+name, func(b *testing.B) {
			var e xdr.Encoder
			b.ReportAllocs()
			for b.Loop() {
				e.Reset()
				h.Encode(&e)
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			p := encodeHeader(&h)
			var d xdr.Decoder
			var got oncrpc.CallHeader
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(p, nil)
				if err := got.Decode(&d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplyHeader(b *testing.B) {
	p := unhex(b, "01020304 00000001 00000000 00000000 00000000 00000000")
	var d xdr.Decoder
	b.ReportAllocs()
	for b.Loop() {
		d.Reset(p, nil)
		if err := oncrpc.DecodeReply(&d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDispatch measures a server's work for a call, from the header to the reply.
func BenchmarkDispatch(b *testing.B) {
	s := newServer(b, oncrpc.ServerConfig{}, oncrpc.Procedure{NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(c.Args.Uint32())
		return nil
	}})
	for name, cred := range benchCredentials() {
		b.Run(name, func(b *testing.B) {
			h := oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: testProgram,
				Version: testVersion, Procedure: 1, Cred: cred}
			call := append(encodeHeader(&h), 0, 0, 0, 1)
			in := &quietIncoming{incoming{t: b}}
			in.conn, _ = connection(b)
			b.ReportAllocs()
			for b.Loop() {
				in.args.Reset(call, nil)
				oncrpc.DispatcherOf(s).Dispatch(in)
			}
		})
	}
}

// BenchmarkBeginWait measures two calls, of which one waits for its peer while the other is made.
func BenchmarkBeginWait(b *testing.B) {
	waits, answer := make(chan struct{}), make(chan struct{})
	s := newServer(b, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
		if c.Args.Uint32() == 0 {
			c.BeginWait()
			waits <- struct{}{}
			<-answer
			c.EndWait()
		}
		return nil
	}})
	d := oncrpc.DispatcherOf(s)
	var calls [2][]byte
	var ins [2]signalingIncoming
	for i := range ins {
		calls[i] = callBytes(uint32(i), 1, uint32(i))
		ins[i].t, ins[i].replied = b, make(chan struct{})
		ins[i].conn, _ = connection(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range ins {
			ins[i].args.Reset(calls[i], nil)
		}
		d.Dispatch(&ins[0])
		<-waits
		d.Dispatch(&ins[1])
		<-ins[1].replied
		answer <- struct{}{}
		<-ins[0].replied
	}
}

// answered is a transport whose server has already replied.
type answered struct {
	*fakeConn
	reply []byte
}

func (a *answered) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	x.SetReply(a.reply, nil, nil)
	return nil
}

// BenchmarkCall measures a client's work for a call: encoding it, and decoding the reply.
func BenchmarkCall(b *testing.B) {
	reply := unhex(b, "01020304 00000001 00000000 00000000 00000000 00000000 00000007")
	for name, cred := range benchCredentials() {
		b.Run(name, func(b *testing.B) {
			conn, _ := connection(b)
			c := oncrpc.NewClient(&answered{conn, reply}, testProgram, testVersion,
				flavorOf(b, cred))
			var args, res word
			r := oncrpc.Request{Procedure: 1, Args: &args, Reply: &res, MaxReply: 4}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Do(context.Background(), &r); err != nil || res.n != 7 {
					b.Fatalf("got %d, %v; want 7", res.n, err)
				}
			}
		})
	}
}

// landing is a reply that names a buffer for its data.
type landing struct{ into []byte }

func (l *landing) UnmarshalXDR(d *xdr.Decoder) { l.into = d.BulkInto(l.into) }

func (l *landing) ReplyRoom(results [][]byte) (int, [][]byte) { return 4, append(results, l.into) }

// BenchmarkSizedReply measures a call whose reply says how much room it needs.
func BenchmarkSizedReply(b *testing.B) {
	reply := unhex(b, "01020304 00000001 00000000 00000000 00000000 00000000 00000004 61626364")
	conn, _ := connection(b)
	c := oncrpc.NewClient(&answered{conn, reply}, testProgram, testVersion, oncrpc.AuthNone())
	var args word
	res := landing{make([]byte, 4)}
	b.ReportAllocs()
	for b.Loop() {
		err := c.Call(context.Background(), 1, &args, &res)
		if err != nil || string(res.into) != "abcd" {
			b.Fatalf("got %q, %v", res.into, err)
		}
	}
}
