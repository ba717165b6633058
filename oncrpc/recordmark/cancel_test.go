package recordmark_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// roundTrip makes a call in the background. It overwrites the call's memory when the call returns.
func roundTrip(ctx context.Context, c *recordmark.Conn, x *oncrpc.Exchange) chan error {
	done := make(chan error, 1)
	go func() {
		err := c.RoundTrip(ctx, x)
		scribble(x)
		x.Release()
		done <- err
	}()
	return done
}

func running(t *testing.T, done chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("the call returned %v, it should wait", err)
	default:
	}
}

func returned(t *testing.T, done chan error, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	default:
		t.Fatalf("the call still waits, it should return %v", want)
	}
}

func TestCancelBefore(t *testing.T) {
	c, _ := newRawPeer(t, recordmark.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.RoundTrip(ctx, exchange(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if s := c.Stats(); s.Calls != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestCancelWaitingForSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{MaxCalls: 1})
		first := roundTrip(context.Background(), c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		ctx, cancel := context.WithCancel(context.Background())
		second := roundTrip(ctx, c, exchange(nil))
		third := roundTrip(context.Background(), c, exchange(nil))
		running(t, second)
		cancel()
		returned(t, second, context.Canceled)
		peer.reply(xid, 0)
		returned(t, first, nil)
		running(t, third)
		peer.reply(binary.BigEndian.Uint32(peer.record()), 0)
		returned(t, third, nil)
	})
}

// Credits counts pending and waiting calls. An abandoned call is neither.
func TestCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{MaxCalls: 2})
		want := func(inUse, waiting int) {
			t.Helper()
			synctest.Wait()
			if g, u, w := c.Credits(); g != 2 || u != inUse || w != waiting {
				t.Errorf("Credits() = %d, %d, %d, want 2, %d, %d", g, u, w, inUse, waiting)
			}
		}
		want(0, 0)
		ctx, cancel := context.WithCancel(context.Background())
		given := roundTrip(ctx, c, exchange(nil))
		peer.record()
		want(1, 0)
		cancel()
		returned(t, given, context.Canceled)
		want(0, 0)
		first := roundTrip(context.Background(), c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		ctx, cancel = context.WithCancel(context.Background())
		var others []chan error
		for range 3 {
			others = append(others, roundTrip(ctx, c, exchange(nil)))
		}
		peer.record()
		want(2, 2)
		peer.reply(xid, 0)
		peer.record()
		returned(t, first, nil)
		want(2, 1)
		cancel()
		for _, done := range others {
			returned(t, done, context.Canceled)
		}
		want(0, 0)
	})
}

// A queued call is removed from the queue, and the peer never sees it.
func TestCancelQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		first := roundTrip(context.Background(), c, exchange(make([]byte, 5000)))
		synctest.Wait() // being written, because nobody reads
		ctx, cancel := context.WithCancel(context.Background())
		var middle []chan error
		for range 3 {
			middle = append(middle, roundTrip(ctx, c, exchange(bytes.Repeat([]byte{0xaa}, 5000))))
			synctest.Wait()
		}
		last := roundTrip(context.Background(), c, exchange(bytes.Repeat([]byte{0xbb}, 5000)))
		running(t, last)
		cancel()
		for _, m := range middle {
			returned(t, m, context.Canceled)
		}
		for i, done := range []chan error{first, last} {
			running(t, done)
			got := peer.record()
			if want := []byte{0, 0xbb}[i]; got[100] != want || got[len(got)-1] != want {
				t.Errorf("record %d has data %02x, want %02x", i, got[100], want)
			}
			peer.reply(binary.BigEndian.Uint32(got), 0)
			returned(t, done, nil)
		}
		if s := c.Stats(); s.Calls != 5 || s.Cancelled != 3 || s.RecordsOut != 2 || s.StrayReplies != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// RoundTrip waits for a call that is being written. So the stream stays intact, and the memory is
// not touched afterwards.
func TestCancelBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		want := bytes.Repeat([]byte{0xcc}, 100_000)
		call := roundTrip(ctx, c, exchange(bytes.Clone(want)))
		head := peer.bytes(4 + 40 + 4 + 1000)
		xid := binary.BigEndian.Uint32(head[4:])
		neighbour := roundTrip(context.Background(), c, exchange(nil))
		cancel()
		running(t, call)
		if rest := peer.bytes(len(want) - 1000); !bytes.Equal(rest, want[1000:]) {
			t.Error("the data changed while it was written")
		}
		returned(t, call, context.Canceled)
		peer.reply(xid, 0) // too late
		peer.reply(binary.BigEndian.Uint32(peer.record()), 0)
		returned(t, neighbour, nil)
		if s := c.Stats(); s.Cancelled != 1 || s.StrayReplies != 1 {
			t.Errorf("stats %+v", s)
		}
		if c.Err() != nil {
			t.Errorf("the connection ended: %v", c.Err())
		}
	})
}

// A peer that does not accept the rest of a cancelled call loses the connection.
func TestCancelGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{CancelGrace: 10 * time.Second})
		ctx, cancel := context.WithCancel(context.Background())
		call := roundTrip(ctx, c, exchange(make([]byte, 100_000)))
		peer.bytes(1000)
		neighbour := roundTrip(context.Background(), c, exchange(nil))
		running(t, neighbour)
		cancel()
		start := time.Now()
		if err := <-call; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if d := time.Since(start); d != 10*time.Second { // by the bubble's clock
			t.Errorf("the grace was %v, want 10s", d)
		}
		returned(t, neighbour, recordmark.ErrStalled)
		if !errors.Is(c.Err(), recordmark.ErrStalled) {
			t.Errorf("the connection's error is %v, want ErrStalled", c.Err())
		}
	})
}

func TestCancelWaitingForReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		call := roundTrip(ctx, c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		neighbour := roundTrip(context.Background(), c, exchange(nil))
		neighbourXID := binary.BigEndian.Uint32(peer.record())
		cancel()
		returned(t, call, context.Canceled)
		peer.reply(xid, 0)
		running(t, neighbour)
		peer.reply(neighbourXID, 0)
		returned(t, neighbour, nil)
		peer.reply(neighbourXID, 0) // again
		synctest.Wait()
		if s := c.Stats(); s.Cancelled != 1 || s.StrayReplies != 2 || s.BadRecords != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A call whose reply arrives before the call has left ends only when all of it has left.
func TestReplyWhileBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cancelled := range []bool{false, true} {
			c, peer := newRawPeer(t, recordmark.Config{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			call := roundTrip(ctx, c, exchange(make([]byte, 100_000)))
			head := peer.bytes(4 + 40 + 4)
			peer.reply(binary.BigEndian.Uint32(head[4:]), 0)
			running(t, call)
			if cancelled {
				cancel()
				running(t, call)
			}
			peer.bytes(100_000)
			returned(t, call, nil)
		}
	})
}

// A reply to a call that is still queued is ignored.
func TestReplyToQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{})
		first := roundTrip(context.Background(), c, exchange(make([]byte, 5000)))
		xid := binary.BigEndian.Uint32(peer.bytes(100)[4:])
		second := roundTrip(context.Background(), c, exchange(nil))
		synctest.Wait()
		peer.reply(xid+1, 0)
		running(t, second)
		if s := c.Stats(); s.StrayReplies != 1 {
			t.Errorf("stats %+v", s)
		}
		c.Close()
		returned(t, first, net.ErrClosed)
		returned(t, second, net.ErrClosed)
	})
}

// If a call is cancelled while the writer prepares for it, the writer finds nothing to do and goes
// on.
func TestCancelAtOnce(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	last := make(chan uint32, 1)
	go func() {
		for range 3000 {
			ctx, cancel := context.WithCancel(context.Background())
			go cancel()
			c.RoundTrip(ctx, exchange(nil))
		}
		x := exchange([]byte("last"))
		if err := c.RoundTrip(context.Background(), x); err != nil {
			t.Error(err)
		}
		close(last)
	}()
	for {
		if p := peer.record(); bytes.HasSuffix(p, []byte("last")) {
			peer.reply(binary.BigEndian.Uint32(p), 0)
			break
		}
	}
	hang.Receive(t, "the last call", last)
}

// Calls are cancelled at any moment, over real sockets. Other calls are not affected, and the
// server receives the data as it was before the call returned.
func TestCancelStorm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	sum := func(_ context.Context, c *oncrpc.Call) error {
		p, _ := c.Args.Bulk(1 << 20).Bytes(context.Background())
		if len(p) < 4 || crc32.ChecksumIEEE(p[4:]) != binary.BigEndian.Uint32(p) {
			t.Error("the server got data that was never sent")
		}
		c.Results.BulkBytes(bytes.Clone(p), nil)
		return nil
	}
	x, y := connected(t, "tcp")
	a, b := newConn(t, x, recordmark.Config{MaxCalls: 16}), newConn(t, y,
		recordmark.Config{MaxInFlight: 8})
	b.Serve(server(t, sum))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 50 {
				p := make([]byte, 4+r.IntN(200_000))
				for j := 4; j < len(p); j += 64 {
					p[j] = byte(r.Uint32())
				}
				binary.BigEndian.PutUint32(p, crc32.ChecksumIEEE(p[4:]))
				want := bytes.Clone(p)
				ctx, cancel := context.WithTimeout(context.Background(),
					time.Duration(r.IntN(3000))*time.Microsecond)
				patient := i%4 == 0
				if patient {
					ctx = context.Background()
				}
				x := exchange(p)
				err := a.RoundTrip(ctx, x)
				scribble(x)
				switch {
				case err == nil:
					x.Reply.Raw(24)
					got, _ := x.Reply.Bulk(1 << 20).Bytes(context.Background())
					if x.Reply.Finish() != nil || !bytes.Equal(got, want) {
						t.Error("the reply is not the call's")
					}
					x.Release()
				case patient || !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("got %v", err)
				}
				cancel()
			}
		})
	}
	hang.Wait(t, "the callers", &wg)
	for _, c := range []*recordmark.Conn{a, b} {
		if err := c.Err(); err != nil {
			t.Errorf("the connection ended: %v", err)
		}
	}
	a.Close()
	hang.Receive(t, "the end of the connection", a.Done())
	hang.Receive(t, "the end of the connection", b.Done())
}
