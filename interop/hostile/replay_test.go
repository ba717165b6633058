package hostile_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// TestKeptReplies lets another host repeat a client's call with its XID, and then make so many
// calls that their replies fill the reply cache. The client's own repeat still gets the first
// reply. The call is not executed again, and no other host gets that reply.
func TestKeptReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		defer w.close()
		su := &vfs.Cred{}
		if _, _, err := w.fs.Create(t.Context(), su, w.fs.Root(), "a", &nfs3.CreateHow{}); err != nil {
			t.Fatal(err)
		}
		const xid = 77
		remove := func(from string) nfs3.Status {
			p := w.connect(from)
			defer p.conn.Close()
			p.xid = xid - 1
			return p.removes("a", 1)
		}
		const good, bad = "10.0.1.1", "10.6.6.6"
		if got := remove(good); got != nfs3.OK {
			t.Errorf("REMOVE: %v", got)
		}
		if got := remove(bad); got != nfs3.ErrNoEnt {
			t.Errorf("another host's REMOVE with the same transaction id: %v, want its own answer", got)
		}
		p := w.connect(bad)
		for range 10_000 / small.inFlight { // 2 MiB hold some 4000 replies
			if got := p.removes("none", small.inFlight); got != nfs3.ErrNoEnt {
				t.Fatalf("another host's REMOVEs: %v, %v", got, p.err)
			}
		}
		p.conn.Close()
		if got := remove(good); got != nfs3.OK {
			t.Errorf("REMOVE again: %v, want the first answer", got)
		}
		if n := w.srv.Stats().Replayed; n != 1 {
			t.Errorf("%d answers were given again, want 1", n)
		}
	})
}

// connect makes a connection over RDMA with credits.
func (w *world) connect(host string) *peer {
	w.t.Helper()
	p := newPeer(w.t.Context(), w.site, host, byIWARP)
	p.file = w.fs.Root()
	p.reach(new(attack), w.site)
	p.null()
	if !p.ok() {
		w.t.Fatal(p.err)
	}
	return p
}

// removes makes n REMOVEs of a name in the root, each with its own XID, and returns the last
// status.
func (p *peer) removes(name string, n int) nfs3.Status {
	arg := append(be32(uint32(len(name))), name...)
	arg = append(arg, make([]byte, -len(name)&3)...)
	var calls [][]byte
	for range n {
		calls = append(calls, p.call(0, noChunks, p.rpc(nfs3.ProcRemove, p.handle(), arg)))
	}
	p.send(calls...)
	const before = 28 + 24 // bytes in front of the status: of RPC-over-RDMA, and of RPC
	var b []byte
	for range n {
		if b = p.receive(); p.ok() && len(b) < before+4 {
			p.err = fmt.Errorf("a reply of %d bytes", len(b))
		}
	}
	if !p.ok() {
		return ^nfs3.Status(0)
	}
	return nfs3.Status(binary.BigEndian.Uint32(b[before:]))
}
