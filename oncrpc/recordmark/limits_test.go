package recordmark_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Reading stops at MaxInFlight calls and continues when a reply has left.
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{MaxInFlight: 2})
		finish := make(chan struct{})
		c.Serve(server(t, func(context.Context, *oncrpc.Call) error {
			<-finish
			return nil
		}))
		var sent atomic.Int32
		go func() {
			for xid := range uint32(5) {
				peer.call(xid, 1)
				sent.Add(1)
			}
		}()
		served := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := c.Stats().Served; got != uint64(want) || sent.Load() != int32(want) {
				t.Errorf("%d calls served, %d accepted, want %d", got, sent.Load(), want)
			}
		}
		served(2)
		finish <- struct{}{} // its reply is not read yet
		served(2)
		peer.record()
		served(3)
		close(finish)
		for range 4 {
			peer.record()
		}
		served(5)
	})
}

// A slow handler on the receiving goroutine delays what comes after it, but not the replies of
// others.
func TestReplyWhileDispatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		slow, slower := make(chan struct{}), make(chan struct{})
		srv := server(t)
		srv.Replace(oncrpc.Program{Number: testProgram, Version: testVersion, Procedures: []oncrpc.Procedure{
			1: {Handler: func(context.Context, *oncrpc.Call) error { <-slow; return nil }},
			2: {Handler: func(context.Context, *oncrpc.Call) error { <-slower; return nil }, NonBlocking: true},
		}})
		c.Serve(srv)
		peer.call(1, 1)
		peer.call(2, 2)
		synctest.Wait()
		close(slow)
		if got := peer.record(); binary.BigEndian.Uint32(got) != 1 {
			t.Errorf("got %x, want the reply to call 1", got)
		}
		close(slower)
		peer.record()
	})
}

// A call of this end makes a stopped connection read again, so that its reply is seen.
func TestReadsOnForReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{MaxInFlight: 1})
		finish := make(chan struct{})
		c.Serve(server(t, func(context.Context, *oncrpc.Call) error {
			<-finish
			return nil
		}))
		peer.call(1, 1)
		synctest.Wait()
		call := roundTrip(context.Background(), c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		peer.call(2, 1) // is before the reply
		running(t, call)
		peer.reply(xid, 0)
		returned(t, call, nil)
		close(finish)
		peer.record()
		peer.record()
	})
}

// Such reading has its own limit, and the peer has CancelGrace to get below it.
func TestOverrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, peer := newRawPeer(t, recordmark.Config{MaxInFlight: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Serve(server(t, func(ctx context.Context, _ *oncrpc.Call) error {
			<-ctx.Done()
			return nil
		}))
		call := roundTrip(context.Background(), c, exchange(nil))
		peer.record()
		for xid := range uint32(16) {
			peer.call(xid, 1)
		}
		running(t, call)
		peer.call(16, 1)
		running(t, call) // another call might still be answered
		if err := <-call; !errors.Is(err, recordmark.ErrTooManyCalls) {
			t.Errorf("got %v, want ErrTooManyCalls", err)
		}
		if !strings.Contains(log.String(), "too many calls") {
			t.Errorf("log %q", log.String())
		}
	})
}

// Records that are no RPC messages are dropped and counted, and the first of each kind is logged.
// The connection goes on.
func TestBadRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, peer := newRawPeer(t, recordmark.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Serve(server(t))
		bad := [][]byte{nil, {1}, words(1), words(1, 0)[:7], words(1, 2),
			words(2, 0xffffffff, 0, 0)}
		for _, p := range bad {
			peer.send(p)
		}
		peer.call(5, 0)
		if got, want := peer.record(), words(5, 1, 0, 0, 0, 0); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		if s := c.Stats(); s.BadRecords != uint64(len(bad)) || s.Served != 1 {
			t.Errorf("stats %+v", s)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "record too short") ||
			!strings.Contains(log.String(), "neither call nor reply") {
			t.Errorf("log %q", log.String())
		}
	})
}

// A record that is too long ends the connection before its bytes have arrived.
func TestTooLongRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, peer := newRawPeer(t, recordmark.Config{MaxRecord: 100, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		c.Serve(server(t))
		peer.send(make([]byte, 100))
		if _, err := peer.Write([]byte{0, 0, 0, 50}); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write(make([]byte, 50)); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write([]byte{0x80, 0, 0, 51}); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if !errors.Is(c.Err(), recordmark.ErrRecordTooLong) || c.Stats().BadRecords != 1 {
			t.Errorf("error %v, stats %+v", c.Err(), c.Stats())
		}
		if !strings.Contains(log.String(), "connection closed") {
			t.Errorf("log %q", log.String())
		}
	})
}

// A peer that mounts over RDMA at the TCP port gets an error of its own.
func TestSpeaksMPA(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		want       string
	}{
		{"iWARP", "MPA ID Req Frame\x10\x02\x00\x04\x80\x10\xc0\x10",
			"record too long: the peer speaks iWARP (MPA), not RPC over TCP: iWARP has another port"},
		{"another", "MPA\x00ID Req Frame", "record too long: a fragment of 1297105152 bytes after 0, 4259840 allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			peer, conn := connected(t, "tcp")
			defer peer.Close()
			c := newConn(t, conn, recordmark.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c.Serve(server(t))
			if _, err := peer.Write([]byte(tt.sent)); err != nil {
				t.Fatal(err)
			}
			hang.Receive(t, "the end of the connection", c.Done())
			if err := c.Err(); !errors.Is(err, recordmark.ErrRecordTooLong) || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
			if !strings.Contains(log.String(), tt.want) || c.Stats().BadRecords != 1 {
				t.Errorf("log %q, stats %+v", log.String(), c.Stats())
			}
		})
	}
}

// FuzzConn feeds arbitrary bytes to a connection that serves and calls. It must neither panic nor
// stay open.
func FuzzConn(f *testing.F) {
	call := callMessage(7, 1)
	f.Add(append([]byte{0x80, 0, 0, 40}, call.Inline...))
	f.Add(append([]byte{0x80, 0, 0, 28}, words(1, 1, 0, 0, 0, 0, 42)...))
	f.Add([]byte{0x80, 0, 0, 0, 0x80, 0, 0, 4, 1, 2, 3, 4})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		c, peer := newRawPeer(t, recordmark.Config{MaxRecord: 1 << 16, MaxInFlight: 2})
		c.Serve(server(t, echo))
		answered := make(chan struct{})
		go func() { // reads the answers and the call
			defer close(answered)
			p := make([]byte, 4096)
			for {
				if _, err := peer.Read(p); err != nil {
					return
				}
			}
		}()
		ctx, cancel := context.WithCancel(context.Background())
		done := roundTrip(ctx, c, exchange(nil))
		peer.Write(stream)
		cancel()
		hang.Receive(t, "the call", done)
		peer.Close()
		hang.Receive(t, "the end of the connection", c.Done())
		hang.Receive(t, "the answer", answered)
		if s := c.Stats(); s.Served+s.StrayReplies+s.BadRecords > s.RecordsIn+1 {
			t.Errorf("stats %+v", s)
		}
	})
}
