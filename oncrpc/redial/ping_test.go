package redial_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// ping pings in the background.
func ping(ctx context.Context, c *redial.Conn) chan error {
	done := make(chan error, 1)
	go func() { done <- c.Ping(ctx, testProgram, 1) }()
	return done
}

// A ping uses all connections, with transaction ids like those of calls, and ends when all have
// answered.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns := connectCredited(t, 3, redial.Config{})
		conns[1].set(credits{64, 64, 1}) // it is starved, and may be dead
		done := ping(t.Context(), c)
		seen := make(map[uint32]bool)
		for _, f := range conns[:3] {
			running(t, done)
			k := f.next(t)
			f.idle(t)
			if k.xid == 0 || seen[k.xid] {
				t.Errorf("xid %08x", k.xid)
			}
			seen[k.xid] = true
			k.answer <- nil
		}
		returned(t, done, nil)
	})
}

// Ping calls procedure 0 of the program with AUTH_NONE.
func TestPingCall(t *testing.T) {
	var sent []byte
	c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
		return &recorder{newFakeConn("recorder"), &sent}, nil
	}, redial.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var accept *oncrpc.AcceptError
	err = c.Ping(t.Context(), 100003, 3)
	if !errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
		t.Errorf("got %v, want PROG_UNAVAIL", err)
	}
	want := []uint32{0, 2, 100003, 3, 0, 0, 0, 0, 0} // from mtype CALL; RFC 5531 section 9
	if len(sent) != 4+4*len(want) {
		t.Fatalf("%d bytes sent, want %d", len(sent), 4+4*len(want))
	}
	for i, w := range want {
		if got := binary.BigEndian.Uint32(sent[4+4*i:]); got != w {
			t.Errorf("word %d is %d, want %d", i+1, got, w)
		}
	}
	c.Close()
	<-c.Done()
}

// recorder is a connection that answers PROG_UNAVAIL.
type recorder struct {
	*fakeConn
	sent *[]byte
}

func (r *recorder) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	binary.BigEndian.PutUint32(x.Call.Inline, x.XID)
	*r.sent = append([]byte(nil), x.Call.Inline...)
	answer := reply(x.XID)
	answer[len(answer)-1] = byte(oncrpc.ProgUnavail)
	x.SetReply(answer, nil, nil)
	return nil
}

// The error names the peer of a connection that does not answer. The context does not end the
// connection, but Stall does.
func TestPingNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2, Stall: 8 * time.Second})
		var two []chan error
		for range 2 { // the second makes redial dial another connection
			two = append(two, start(t.Context(), c, exchange(false)))
			synctest.Wait()
		}
		p.conn(t, 1)
		for _, done := range two {
			p.conn(t, 0).next(t).answer <- nil
			returned(t, done, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		done := ping(ctx, c)
		p.conn(t, 0).next(t).answer <- nil
		time.Sleep(5 * time.Second)
		err := returned(t, done, context.DeadlineExceeded)
		var call *oncrpc.CallError
		if !errors.As(err, &call) || call.Peer != p.conn(t, 1).name || call.Procedure != 0 {
			t.Errorf("got %v, want that of the second connection", err)
		}
		time.Sleep(time.Hour)
		if err := p.conn(t, 1).Err(); err != nil {
			t.Errorf("it has ended: %v", err)
		}
		p.conn(t, 1).next(t)

		done = ping(t.Context(), c)
		p.conn(t, 0).next(t).answer <- nil
		began := time.Now()
		<-p.conn(t, 1).done
		if d := time.Since(began); d < 8*time.Second || d > 10*time.Second {
			t.Errorf("closed after %v, want 8 s to a quarter more", d)
		}
		returned(t, done, redial.ErrStalled)
		done = ping(t.Context(), c)
		p.conn(t, 0).next(t).answer <- nil
		returned(t, done, nil)
	})
}

// A ping makes a connection if there is none.
func TestPingConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{})
		time.Sleep(time.Minute)
		p.conn(t, 0).end(errReset)
		done := ping(t.Context(), c)
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		p.set(errRefused, false)
		p.conn(t, 1).end(errReset)
		returned(t, ping(t.Context(), c), errRefused)
		c.Close()
		returned(t, ping(t.Context(), c), errClosed)
	})
}
