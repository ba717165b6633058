package redial_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// The server accepts connections and never answers. A call that may be repeated uses one after the
// other, and fails when Config.Wait has passed since it lost the first.
func TestNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall, wait = 8 * time.Second, 30 * time.Second
		p := newFakeHost()
		c := p.connect(t, redial.Config{Conns: 2, Stall: stall, Wait: wait})
		began := time.Now()
		var calls []chan error
		for range 5 {
			calls = append(calls, start(context.Background(), c, exchange(true)))
		}
		for _, done := range calls {
			err := <-done
			var op *redial.OpError
			if !errors.Is(err, redial.ErrStalled) || !errors.As(err, &op) || op.TriedFor < wait {
				t.Errorf("got %v", err)
			}
		}
		// The first is lost after a stall. The last ends at most a stall after Wait.
		if d, most := time.Since(began), wait+2*stall*5/4; d > most {
			t.Errorf("failed after %v, want %v at most", d, most)
		}
	})
}

// A server that answers only pings is alive, and only its context ends a call. When pings get no
// reply either, Stall ends the connection.
func TestAnswersPingsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Stall: 8 * time.Second})
		f := p.conn(t, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		patient, other := start(t.Context(), c, exchange(false)), start(ctx, c, exchange(false))
		f.next(t)
		f.next(t)
		for range 12 * 60 {
			running(t, other)
			done := ping(t.Context(), c)
			f.next(t).answer <- nil
			returned(t, done, nil)
			time.Sleep(5 * time.Second)
		}
		returned(t, other, context.DeadlineExceeded)
		running(t, patient)
		done := ping(t.Context(), c)
		time.Sleep(10 * time.Second)
		returned(t, patient, redial.ErrStalled)
		returned(t, done, redial.ErrStalled)
	})
}

// The server closes each connection after one reply. All calls get their replies, and each waits
// for a connection for at most half of Config.Wait, or 5 s.
func TestClosesAfterEachCall(t *testing.T) {
	for _, wait := range []time.Duration{0, 4 * time.Second, -1} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			c := p.connect(t, redial.Config{Wait: wait})
			for i := range 100 {
				began := time.Now()
				done := start(t.Context(), c, exchange(false))
				synctest.Wait()
				if pause := 5 * time.Second; i > 0 && wait != 0 {
					if wait > 0 {
						pause = wait / 2
					}
					time.Sleep(pause)
				}
				f := p.conn(t, i)
				f.next(t).answer <- nil
				returned(t, done, nil)
				if d := time.Since(began); d > 5*time.Second {
					t.Errorf("call %d took %v", i, d)
				}
				f.end(errReset)
			}
			if n := len(p.attempts()); n != 99 {
				t.Errorf("dialled %d times for 100 calls, want 99", n)
			}
		})
	}
}

// hooked is a connection whose server has hooks, which run when it is served.
type hooked struct {
	*fakeConn
	began func()
}

func (h hooked) Serve(s *oncrpc.Server) {
	h.began()
	h.fakeConn.Serve(s)
}

// The hooks of a server may use the Conn that it serves.
func TestServeHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *redial.Conn
		var conns []hooked
		var peers []string
		c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
			conns = append(conns, hooked{newFakeConn("hooked"), func() {
				peers = append(peers, c.RemoteAddr().String())
				if err := c.Err(); err != nil {
					t.Error(err)
				}
			}})
			return conns[len(conns)-1], nil
		}, redial.Config{Logger: newFakeHost().logger()})
		if err != nil {
			t.Fatal(err)
		}
		srv := oncrpc.NewServer(oncrpc.ServerConfig{})
		c.Serve(srv)
		conns[0].end(errReset)
		done := start(t.Context(), c, exchange(false))
		synctest.Wait()
		conns[1].next(t).answer <- nil
		returned(t, done, nil)
		if len(peers) != 2 || len(conns[1].servers) != 1 || conns[1].servers[0] != srv {
			t.Errorf("hooks have run for %v, servers %v", peers, conns[1].servers)
		}
		c.Close()
		<-c.Done()
	})
}
