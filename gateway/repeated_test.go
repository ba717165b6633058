package gateway

import (
	"bytes"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Replies come in the order in which the server gives them, and a call that comes again meanwhile
// is dropped.
func TestDuplicate(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	for _, xid := range []uint32{7, 0} {
		s.send(testCall(xid, 1))
		gate.next(t)
	}
	s.send(testCall(7, 1))
	s.send(testCall(0, 1))
	s.send(testCall(8, 0))
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 8}) {
		t.Errorf("got reply %x, want that to 8", got)
	}
	close(gate.open)
	got := map[string]bool{string(s.next()[:4]): true, string(s.next()[:4]): true}
	if !got["\x00\x00\x00\x00"] || !got["\x00\x00\x00\x07"] {
		t.Errorf("got replies to %v", got)
	}
	if len(gate.entered) != 0 {
		t.Errorf("%d calls were executed twice", len(gate.entered))
	}
	// When they have been answered, they may be called again.
	s.send(testCall(7, 0))
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 7}) {
		t.Errorf("got reply %x, want that to 7", got)
	}
	if got := g.Stats(); got.Duplicates != 2 || got.Calls != 5 || got.Replies != 5 {
		t.Errorf("stats %+v", got)
	}
}

// A call that comes for the third time has been lost, by a server that drops calls: the client is
// disconnected, and calls over a new connection.
func TestLostCall(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	s.send(testCall(7, 1))
	gate.next(t)
	for range lost - 1 {
		s.send(testCall(7, 1))
	}
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	again := granted(t, g)
	again.send(testCall(7, 1))
	gate.next(t)
	close(gate.open)
	if got := again.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 7}) {
		t.Errorf("got reply %x, want that to 7", got)
	}
	if got := g.Stats(); got.Duplicates != lost-1 || got.Dials != 2 {
		t.Errorf("stats %+v", got)
	}
}

// An id that the transport has chosen for a call with id 0 may be that of a later call.
func TestChosenXIDInUse(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	s.send(testCall(0, 1))
	chosen := gate.next(t)
	s.send(testCall(chosen, 0))
	want := message(oncrpc.CallHeader{XID: chosen}, nil)[:4]
	if got := s.next(); !bytes.Equal(got[:4], want) || len(got) != 24 {
		t.Errorf("got reply %x, want that to %x", got, want)
	}
	close(gate.open)
	if got := s.next(); !bytes.Equal(got[:4], make([]byte, 4)) {
		t.Errorf("got reply %x, want that to 0", got)
	}
}

// A client that has lost its connection calls again from its port, and gets the reply to its first
// call: it is not executed twice. Another client that uses the same transaction id has its own call
// executed.
func TestRetransmission(t *testing.T) {
	srv := nfsServer(t)
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})}, recordmark.Config{})
	_, root, _ := file(t, dialTCP(t, g.addr), nil)
	p := message(nfsCall(99, nfs3.ProcMkdir, rootCred(t)),
		&nfs3.MkdirArgs{Where: nfs3.DirOp{Dir: root, Name: "made"}})
	ask := func(s rawClient) []byte {
		s.send(p)
		return s.next()
	}
	first := dialRawClient(t, g.addr)
	made := ask(first)
	if got := ask(dialRawClient(t, g.addr)); len(got) < 28 || nfs3.Status(got[27]) != nfs3.ErrExist {
		t.Errorf("another client got %x, want NFS3ERR_EXIST", cut(got))
	}
	first.Conn.(*net.TCPConn).SetLinger(0) // frees the port
	first.Close()
	if got := ask(dialRawClientFrom(t, first.LocalAddr(), g.addr)); !bytes.Equal(got, made) {
		t.Errorf("got %x\nwant %x", cut(got), cut(made))
	}
	if got := srv.Stats().Replayed; got != 1 {
		t.Errorf("%d calls were answered from the cache, want 1", got)
	}
}
