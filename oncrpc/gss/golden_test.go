package gss_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// golden contains the messages of a context of plain with one service, by hand from RFC 2203 and
// RFC 5531: the call that creates it, a call of procedure 1 with the argument 7, and the reply. The
// server's random handle is left out.
type golden struct {
	service               gss.Service
	creation, call, reply string
}

// goldenCreation is a call that creates a context, up to the service in its credential.
const goldenCreation = `00000001 00000000 00000002 00061a80 00000003 00000000
	00000006 00000014 00000001 00000001 00000000`

var goldens = []golden{
	{
		service:  gss.None,
		creation: goldenCreation + `00000001 00000000 00000000 00000000 00000005 68656c6c6f000000`,
		call: `00000002 00000000 00000002 00061a80 00000003 00000001
			00000006 00000024 00000001 00000000 00000001 00000001 00000010 HANDLE
			00000006 00000005 73756d4400000000
			00000007`,
		reply: `00000002 00000001 00000000
			00000006 00000005 73756d0400000000 00000000
			00000007`,
	},
	{
		service:  gss.Integrity,
		creation: goldenCreation + `00000002 00000000 00000000 00000000 00000005 68656c6c6f000000`,
		call: `00000002 00000000 00000002 00061a80 00000003 00000001
			00000006 00000024 00000001 00000000 00000001 00000002 00000010 HANDLE
			00000006 00000005 73756d4400000000
			00000008 00000001 00000007 00000005 73756d0800000000`,
		reply: `00000002 00000001 00000000
			00000006 00000005 73756d0400000000 00000000
			00000008 00000001 00000007 00000005 73756d0800000000`,
	},
	{
		service:  gss.Privacy,
		creation: goldenCreation + `00000003 00000000 00000000 00000000 00000005 68656c6c6f000000`,
		call: `00000002 00000000 00000002 00061a80 00000003 00000001
			00000006 00000024 00000001 00000000 00000001 00000003 00000010 HANDLE
			00000006 00000005 73756d4400000000
			0000000a 3c fffffffe fffffff8 3e 0000`,
		reply: `00000002 00000001 00000000
			00000006 00000005 73756d0400000000 00000000
			0000000a 3c fffffffe fffffff8 3e 0000`,
	},
}

// For every service: the reply to the creation, and the call that destroys the context.
const (
	goldenCreated = `00000001 00000001 00000000
		00000006 00000005 73756d0400000000 00000000
		00000010 HANDLE 00000000 00000000 00002000 00000007 77656c636f6d6500`
	goldenDestruction = `00000003 00000000 00000002 00061a80 00000003 00000000
		00000006 00000024 00000001 00000003 00000002 00000001 00000010 HANDLE
		00000006 00000005 73756d4400000000`
	goldenDestroyed = `00000003 00000001 00000000
		00000006 00000005 73756d0400000000 00000000`
)

// All messages of a context, byte by byte.
func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.service.String(), func(t *testing.T) {
			m := &plain{}
			s, _ := newServer(t, gss.ServerConfig{Acceptor: m})
			p := newPeer(1, s)
			var got [][]byte
			p.answer = func(call []byte) []byte {
				reply := p.call(call)
				got = append(got, bytes.Clone(call), bytes.Clone(reply))
				return reply
			}
			f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server", Service: g.service})
			c := p.client(f)
			calls(t, c)
			if err := f.Close(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			var handle []byte
			for i, want := range []string{
				g.creation, goldenCreated, g.call, g.reply, goldenDestruction, goldenDestroyed,
			} {
				if i == 1 {
					handle = got[1][36:52]
				}
				if want := filled(t, want, handle); !bytes.Equal(got[i], want) {
					t.Errorf("message %d:\n%x, want\n%x", i, got[i], want)
				}
			}
		})
	}
}

// filled inserts a handle into a message.
func filled(t testing.TB, s string, handle []byte) []byte {
	t.Helper()
	before, after, _ := bytes.Cut([]byte(s), []byte("HANDLE"))
	b := unhex(t, string(before))
	if len(after) > 0 {
		b = append(append(b, handle...), unhex(t, string(after))...)
	}
	return b
}

// newContext creates a context of plain and returns its handle.
func newContext(t testing.TB, p *peer, service gss.Service) []byte {
	t.Helper()
	reply := p.call(unhex(t, goldens[service-1].creation))
	if len(reply) < 52 || oncrpc.AcceptStat(reply[31]) != oncrpc.Success {
		t.Fatalf("creation is answered with %x", reply)
	}
	return reply[36:52]
}
