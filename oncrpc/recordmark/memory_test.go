package recordmark_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// bulkCall returns a call of echo with n bytes, as a record.
func bulkCall(xid uint32, n int) []byte {
	x := exchange(make([]byte, n))
	p := append(make([]byte, 4), x.Call.Inline...)
	p = append(p, make([]byte, n)...)
	binary.BigEndian.PutUint32(p, 1<<31|uint32(len(p)-4))
	binary.BigEndian.PutUint32(p[4:], xid)
	return p
}

// peers starts an echo server and returns connections to it.
func peers(t *testing.T, n int, cfg recordmark.Config) []rawPeer {
	return peersOf(t, n, cfg, server(t, echo))
}

func peersOf(t *testing.T, n int, cfg recordmark.Config, srv *oncrpc.Server) []rawPeer {
	l := newListener(n)
	served := make(chan struct{})
	go func() {
		defer close(served)
		recordmark.Serve(context.Background(), l, srv, cfg)
	}()
	t.Cleanup(func() {
		srv.Close()
		hang.Receive(t, "the end of Serve", served)
	})
	var all []rawPeer
	for range n {
		x, y := net.Pipe()
		t.Cleanup(func() { x.Close() })
		l.conns <- y
		all = append(all, rawPeer{t, x})
	}
	return all
}

// send writes in the background.
func send(r rawPeer, p []byte) chan error {
	done := make(chan error, 1)
	go func() {
		_, err := r.Write(p)
		done <- err
	}()
	return done
}

// A record of up to maxRecord bytes takes oneRecord bytes of memory.
const (
	maxRecord = 250_000
	oneRecord = 256<<10 + 4<<10
)

// The large records of all connections share the memory. Small ones need none.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200_000
		p := peers(t, 3, recordmark.Config{MaxRecord: maxRecord, Memory: oneRecord, Logger: quiet})
		call := bulkCall(1, n)
		if _, err := p[0].Write(call[:len(call)-1]); err != nil {
			t.Fatal(err)
		}
		waiting := send(p[1], call)
		running(t, waiting)
		if _, err := p[2].Write(bulkCall(1, 60_000)); err != nil {
			t.Fatal(err)
		}
		p[2].record()
		running(t, waiting)
		if _, err := p[0].Write(call[len(call)-1:]); err != nil {
			t.Fatal(err)
		}
		p[0].record() // the reply refers to the arguments
		returned(t, waiting, nil)
		p[1].record()
	})
}

type releaseFunc func()

func (f releaseFunc) Release() { f() }

// Replies that a host does not read take no more memory than its share, and one for each
// connection. When the host reads them, all its calls are answered.
func TestMemoryOfReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, calls, size = 4, 32, 1 << 20
		var made, left atomic.Int32
		srv := server(t, func(_ context.Context, c *oncrpc.Call) error {
			made.Add(1)
			c.Results.BulkBytes(make([]byte, size), releaseFunc(func() { left.Add(1) }))
			return nil
		})
		cfg := recordmark.Config{MaxRecord: maxRecord, Memory: 8 * size, Logger: quiet}
		p := peersOf(t, conns, cfg, srv)
		for i := range p {
			go func() {
				for xid := range uint32(calls) {
					p[i].call(xid, 1)
				}
			}()
		}
		synctest.Wait()
		if n := made.Load(); n < conns || n > 4+conns {
			t.Errorf("%d replies that are not read, want a half of the 8 for which there is memory, and %d", n, conns)
		}
		for i := range p {
			for range calls {
				if n := len(p[i].record()); n < size {
					t.Fatalf("a reply of %d bytes", n)
				}
			}
		}
		synctest.Wait()
		if n := left.Load(); n != conns*calls {
			t.Errorf("%d replies are given back, want %d", n, conns*calls)
		}
	})
}

// A peer that sends half a record loses the connection, and others get its memory. Silence between
// records is allowed.
func TestRecordTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peers(t, 2, recordmark.Config{
			MaxRecord: maxRecord, Memory: oneRecord, RecordTimeout: 10 * time.Second, Logger: quiet,
		})
		call := bulkCall(1, 200_000)
		for range 3 {
			if _, err := p[1].Write(call); err != nil {
				t.Fatal(err)
			}
			p[1].record()
			time.Sleep(time.Minute)
		}
		if _, err := p[0].Write(call[:len(call)-1]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // by the bubble's clock
		waiting := send(p[1], call)
		running(t, waiting)
		time.Sleep(5 * time.Second)
		returned(t, waiting, nil)
		p[1].record()
		if _, err := p[0].Write(call[len(call)-1:]); err == nil {
			t.Error("the connection is still there")
		}
	})
}

// A slow record that makes progress is accepted.
func TestRecordTimeoutSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := peers(t, 1, recordmark.Config{RecordTimeout: 10 * time.Second, Logger: quiet})[0]
		for call := bulkCall(1, 2_000_000); len(call) > 0; {
			n := min(len(call), 20_000)
			if _, err := p.Write(call[:n]); err != nil {
				t.Fatalf("%d bytes before the end: %v", len(call), err)
			}
			call = call[n:]
			time.Sleep(2 * time.Second)
		}
		p.record()
	})
}

// A small record has the same time limit.
func TestRecordTimeoutSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{RecordTimeout: 10 * time.Second})
		c.Serve(server(t, echo))
		start := time.Now()
		if _, err := peer.Write(bulkCall(1, 10)[:20]); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		var op *recordmark.OpError
		if err := c.Err(); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" {
			t.Errorf("connection ended with %v, want a read that timed out", err)
		}
		if d := time.Since(start); d != 10*time.Second { // by the bubble's clock
			t.Errorf("after %v, want 10s", d)
		}
		if n := c.Stats().Stalled; n != 1 {
			t.Errorf("%d connections have stalled, want 1", n)
		}
	})
}

// A peer that reads its answers slowly, while this end has a pending call, does not count as having
// too many calls.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		c.Serve(server(t))
		call := roundTrip(context.Background(), c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		const n = 700
		record := string(binary.BigEndian.AppendUint32(nil, 1<<31|40)) + string(callMessage(1, 0).Inline)
		sent := send(peer, []byte(strings.Repeat(record, n)))
		for range n {
			peer.record()
		}
		returned(t, sent, nil)
		peer.reply(xid, 0)
		returned(t, call, nil)
	})
}

func TestEmptyFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		c.Serve(server(t))
		peer.Write(make([]byte, 4*1024))
		peer.send(callMessage(1, 0).Inline)
		peer.record()
		peer.Write(make([]byte, 4*1025))
		<-c.Done()
		if !errors.Is(c.Err(), recordmark.ErrEmptyFragments) || c.Stats().BadRecords != 1 {
			t.Errorf("error %v, stats %+v", c.Err(), c.Stats())
		}
	})
}
