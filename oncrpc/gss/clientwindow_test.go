package gss_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// strict is a server that closes a connection when a call arrives below the window of its context
// (RFC 2203 section 5.3.3.1). A call of procedure n is on its way for as long as delay[n] says, and
// is then answered a millisecond later.
type strict struct {
	window uint32

	mu       sync.Mutex // guards the fields below
	delay    map[uint32]time.Duration
	xid      uint32
	highest  map[string]uint32 // sequence number, by handle
	arrived  map[uint32]int    // calls by procedure
	xids     map[uint32]int    // transmissions that have left, by transaction id
	below    int               // calls that arrived below the window
	contexts int
}

func newStrict(window uint32, delay map[uint32]time.Duration) *strict {
	return &strict{window: window, delay: delay, highest: make(map[string]uint32),
		arrived: make(map[uint32]int), xids: make(map[uint32]int)}
}

// strictConn is a connection to it.
type strictConn struct {
	*peer
	s    *strict
	done chan struct{}
	end  sync.Once
}

func (s *strict) dial() *strictConn {
	return &strictConn{peer: newPeer(1, nil), s: s, done: make(chan struct{})}
}

func (c *strictConn) Close() error          { c.end.Do(func() { close(c.done) }); return nil }
func (c *strictConn) Done() <-chan struct{} { return c.done }
func (c *strictConn) Err() error {
	select {
	case <-c.done:
		return net.ErrClosed
	default:
		return nil
	}
}

func (c *strictConn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	s, xid := c.s, x.XID
	s.mu.Lock()
	if s.xid++; xid == 0 {
		xid = s.xid
	}
	s.mu.Unlock()
	if err := x.Seal(xid); err != nil {
		return fmt.Errorf("sealing: %w", err)
	}
	call := x.Call.AppendTo(nil)
	answer := make(chan []byte, 1)
	go s.receive(c, call, answer)
	select {
	case reply := <-answer:
		x.SetReply(reply, nil, nil)
		return nil
	case <-c.done:
		return fmt.Errorf("calling: %w", net.ErrClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive answers a call when it has arrived.
func (s *strict) receive(c *strictConn, call []byte, answer chan<- []byte) {
	procedure, gssProc := binary.BigEndian.Uint32(call[20:]), call[39]
	number, handle := binary.BigEndian.Uint32(call[40:]), call[52:][:binary.BigEndian.Uint32(call[48:])]
	s.mu.Lock()
	s.xids[binary.BigEndian.Uint32(call)]++
	delay := s.delay[procedure]
	s.mu.Unlock()
	if delay > 0 && gssProc == 0 { // RPCSEC_GSS_DATA
		select {
		case <-time.After(delay):
		case <-c.done:
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch gssProc {
	case 1: // RPCSEC_GSS_INIT
		s.contexts++
		made := initOf(s.window)
		made.handle = fmt.Appendf(nil, "handle%d", s.contexts)
		answer <- initReply(made)
		return
	case 3: // RPCSEC_GSS_DESTROY
		answer <- unhexReply("00000006 00000005 73756d0400000000 00000000")
		return
	}
	highest := max(s.highest[string(handle)], number)
	s.highest[string(handle)] = highest
	if highest-number >= s.window {
		s.below++
		c.Close()
		return
	}
	s.arrived[procedure]++
	time.AfterFunc(time.Millisecond, func() {
		answer <- unhexReply("00000006 00000005 73756d0400000000 00000000 00000007")
	})
}

// check checks how many calls of each procedure have arrived, and that none was below the window.
func (s *strict) check(t *testing.T, want ...int) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for procedure, n := range want {
		if got := s.arrived[uint32(procedure)]; got != n {
			t.Errorf("%d calls of procedure %d have arrived, want %d", got, procedure, n)
		}
	}
	if s.below != 0 {
		t.Errorf("%d calls have arrived below the window", s.below)
	}
}

// Procedures by the time that a call of them takes to arrive.
const (
	short = 1
	long  = 2
)

var delays = map[uint32]time.Duration{long: time.Second}

func plainFlavor() *gss.ClientFlavor {
	return gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})
}

func client(t oncrpc.Transport, f *gss.ClientFlavor) *oncrpc.Client {
	return oncrpc.NewClient(t, testProgram, testVersion, f)
}

// Short calls do not overtake long ones by a whole window.
func TestWindowOvertaken(t *testing.T) {
	const longs, shorts, each = 4, 60, 10
	for _, window := range []uint32{1, 2, 5, 16, 64, 128, 8192} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStrict(window, delays)
				c := client(s.dial(), plainFlavor())
				var all sync.WaitGroup
				call := func(procedure uint32) {
					if err := c.Call(t.Context(), procedure, nil, new(number)); err != nil {
						t.Errorf("procedure %d: %v", procedure, err)
					}
				}
				for range longs {
					all.Go(func() { call(long) })
				}
				synctest.Wait()
				for range shorts {
					all.Go(func() {
						for range each {
							call(short)
						}
					})
				}
				time.Sleep(time.Second / 2)
				// The window begins with the long calls.
				sent := min(int(window), longs)
				s.check(t, 0, min(int(window)-sent, shorts*each), 0)
				all.Wait()
				s.check(t, 0, shorts*each, longs)
			})
		})
	}
}

// Calls that wait for the window end with their contexts. A call that is given up stops nobody.
func TestWindowGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := newStrict(4, map[uint32]time.Duration{long: 24 * time.Hour}), plainFlavor()
		conn := s.dial()
		c := client(conn, f)
		stuck, giveUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := c.Call(stuck, long, nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		})
		synctest.Wait()
		for range 10 {
			all.Go(func() { calls(t, c) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Call(ctx, short, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without time: %v", err)
		}
		s.check(t, 0, 3, 0)
		if n := f.Waiting(); n != 7 {
			t.Errorf("%d calls wait, want 7", n)
		}
		giveUp()
		all.Wait()
		s.check(t, 0, 10, 0)
		conn.Close()
	})
}

// A new context has a window of its own. It lets the waiting calls go on, whether the old one has
// been destroyed or replaced.
func TestWindowNewContext(t *testing.T) {
	for _, name := range []string{"destroyed", "replaced"} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, testNewContext(name == "destroyed")) })
	}
}

func testNewContext(destroy bool) func(*testing.T) {
	return func(t *testing.T) {
		s := newStrict(2, map[uint32]time.Duration{long: 24 * time.Hour})
		expires := time.Now().Add(time.Hour)
		m := &plain{expires: func() time.Time { return expires }}
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		conn := s.dial()
		c := client(conn, f)
		stuck, giveUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = c.Call(stuck, long, nil, nil) })
		synctest.Wait()
		for range 5 {
			all.Go(func() { calls(t, c) })
		}
		s.check(t, 0, 1, 0)
		time.Sleep(time.Minute)
		want := 5
		if destroy {
			if err := f.Close(t.Context(), c); err != nil {
				t.Error(err)
			}
		} else { // the next call replaces it
			time.Sleep(55 * time.Minute)
			expires = time.Now().Add(time.Hour)
			all.Go(func() { calls(t, c) })
			want++
		}
		time.Sleep(time.Minute)
		s.check(t, 0, want, 0)
		if f.Waiting() != 0 || s.contexts != 2 {
			t.Errorf("%d calls wait, %d contexts", f.Waiting(), s.contexts)
		}
		giveUp()
		all.Wait()
		conn.Close()
	}
}

// A call that is sent again takes another number, and waits for it if need be.
func TestWindowRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict(4, map[uint32]time.Duration{long: time.Hour, 3: time.Hour})
		f := plainFlavor()
		var conns atomic.Pointer[strictConn]
		dial := func(context.Context) (oncrpc.Transport, error) {
			c := s.dial()
			conns.Store(c)
			return c, nil
		}
		again, err := redial.New(t.Context(), dial, redial.Config{Wait: -1, Stall: -1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		other := s.dial()
		var all sync.WaitGroup
		all.Go(func() { // number 1
			if err := client(other, f).Call(t.Context(), long, nil, new(number)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 3 { // numbers 2 to 4
			all.Go(func() {
				r := oncrpc.Request{Procedure: 3, Reply: new(number), MayRepeat: true}
				if err := client(again, f).Do(t.Context(), &r); err != nil || !r.Repeated {
					t.Errorf("repeated %v, %v", r.Repeated, err)
				}
			})
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.delay = nil // later calls arrive at once
		s.mu.Unlock()
		conns.Load().Close()
		time.Sleep(time.Minute)
		s.check(t, 0, 0, 0, 0)
		all.Wait()
		s.check(t, 0, 0, 1, 3)
		twice := 0
		for _, n := range s.xids {
			if n == 2 {
				twice++
			}
		}
		if twice != 3 {
			t.Errorf("%d transaction ids in two transmissions, want 3", twice)
		}
	})
}
