package iwarp

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/internal/stag"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// reencode passes FPDUs through a Conn and an encoder, and returns what that sends.
func reencode(t *testing.T, fpdus []byte, crc bool) []byte {
	t.Helper()
	plain, ours := tcpPair(t)
	llp, err := mpa.NewConn(ours, mpa.Options{CRC: crc, MaxSegment: siwMULPDU, Stall: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := plain.Write(fpdus); err != nil {
			t.Error(err)
		}
		plain.CloseWrite()
	})
	group.Go(func() {
		var err error
		if got, err = io.ReadAll(plain); err != nil {
			t.Error(err)
		}
		plain.Close()
	})
	e := newReencoder(llp)
	for {
		if err := llp.Receive(e); err != nil {
			if err != io.EOF {
				t.Errorf("Receive: %v", err)
			}
			break
		}
	}
	if err := e.flush(); err != nil {
		t.Errorf("Wait: %v", err)
	}
	llp.Close(true)
	group.Wait()
	return got
}

// reencoder takes segments, and sends each message as soon as it is whole.
type reencoder struct {
	llp   ddp.LLP
	table *stag.Table
	out   outgoing
	first ddp.Header
	whole []byte // of the message so far
	open  bool
	mu    sync.Mutex
}

func newReencoder(llp ddp.LLP) *reencoder {
	e := &reencoder{llp: llp, out: outgoing{version: ddp.Version}}
	e.table = stag.New(1, func(tag transport.STag) {
		e.llp.Detach(tag)
		e.out.detach(e.table, tag)
	})
	return e
}

func (e *reencoder) Segment(segment []byte) error {
	h, payload, err := ddp.Parse(segment)
	if err != nil {
		return err
	}
	if !e.open {
		e.first, e.whole = h, nil
	}
	e.whole = append(e.whole, payload...)
	if e.open = !h.Last; e.open {
		return nil
	}
	return e.send()
}

func (e *reencoder) send() error {
	n := uint64(len(e.whole))
	list := scatter(e.whole)
	switch _, op := rdmap.ParseControl(e.first.Control); op {
	case rdmap.OpWrite:
		e.out.beginWrite(transport.Remote{STag: e.first.STag, Offset: e.first.Offset}, list, n)
	case rdmap.OpReadRequest:
		r, err := rdmap.ParseReadRequest(e.whole)
		if err != nil {
			return err
		}
		e.out.beginRead(0, transport.Remote{STag: r.SourceSTag, Offset: r.SourceOffset}, list, n)
		e.out.request[0].Bytes = r.Append(nil) // the sink is not of our choosing here
	case rdmap.OpReadResponse:
		w, err := e.table.Expose(list, transport.RemoteRead)
		if err != nil {
			return err
		}
		defer e.table.Revoke(w)
		e.out.beginResponse(&inboundRead{
			sink: e.first.STag, sinkOffset: e.first.Offset, source: w.STag, sourceOffset: w.Base, left: uint32(n),
		})
	case rdmap.OpSend, rdmap.OpSendInvalidate:
		e.out.beginSend(op, transport.STag(e.first.ULP), list, n)
	default:
		return errors.New("a kind of message that is in no capture")
	}
	for e.out.active {
		room, err := e.out.segment(e.llp, e.table)
		if err == nil && !room {
			err = e.flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flush sends the batch.
func (e *reencoder) flush() error {
	for {
		switch empty, err := e.llp.Wait(&e.mu); {
		case err != nil:
			return err
		case empty:
			e.out.unpin(e.table)
			return nil
		}
	}
}

// scatter cuts p in pieces of odd lengths.
func scatter(p []byte) (list []transport.Slice) {
	for n := 1; len(p) > 0; n = 3*n + 2 {
		n = min(n, len(p))
		list, p = append(list, transport.Slice{Bytes: p[:n:n]}), p[n:]
	}
	return list
}

// tcpPair returns the two ends of a TCP connection.
func tcpPair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}
