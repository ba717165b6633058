package nfsdemo

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// numbered gives all calls over a connection the same XID.
type numbered struct {
	oncrpc.Transport
	xid uint32
}

func (n numbered) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	x.XID = n.xid
	return n.Transport.RoundTrip(ctx, x)
}

// lateRig is a server with a file, to which calls may come late.
type lateRig struct {
	t    *testing.T
	srv  *restartableServer
	c    *nfsclient.Client
	file nfs3.FH
}

func newLateRig(t *testing.T, by carrier) *lateRig {
	r := &lateRig{t: t, srv: newRestartableServer(t, by,
		func(_ nfs3.Proc, h oncrpc.Handler) oncrpc.Handler { return h })}
	direct, err := by.dial(t.Context(), r.srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		direct.Close()
		<-direct.Done()
	})
	r.c = nfsclient.New(direct, r.cred())
	dir, err := r.c.Mount(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.c.Create(t.Context(), dir, "file", nfs3.CreateHow{})
	if err != nil {
		t.Fatal(err)
	}
	r.file = o.File
	return r
}

func (r *lateRig) cred() oncrpc.ClientFlavor {
	cred, err := oncrpc.AuthSys(*root)
	if err != nil {
		r.t.Fatal(err)
	}
	return cred
}

// connect makes a connection that uses one XID for all calls. It makes a first call, so that the
// setup is complete.
func (r *lateRig) connect(
	xid uint32, dial func(context.Context) (oncrpc.Transport, error)) *nfsclient.Client {
	r.t.Helper()
	conn, err := dial(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	c := nfsclient.New(numbered{conn, xid}, r.cred())
	if err := c.Null(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// direct connects without a network between.
func (r *lateRig) direct(ctx context.Context) (oncrpc.Transport, error) {
	return r.srv.by.dial(ctx, r.srv.addr)
}

// frozen connects, and returns functions that hold up what follows the next n bytes, and let go.
func (r *lateRig) frozen(xid uint32, n int64) (c *nfsclient.Client, hold, held, release func()) {
	relay, err := faultnet.NewRelay(r.srv.addr, faultnet.Config{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { relay.Close() })
	c = r.connect(xid, func(ctx context.Context) (oncrpc.Transport, error) {
		return r.srv.by.dial(ctx, relay.Addr())
	})
	link := relay.Links()[0]
	passed, _ := link.Bytes(faultnet.Up)
	hold = func() { link.FreezeAt(faultnet.Up, passed+n) }
	held = func() {
		hang.Until(r.t, fmt.Sprintf("%d bytes pass, and more wait", n), func() bool {
			p, waits := link.Bytes(faultnet.Up)
			return p == passed+n && waits > 0
		})
	}
	return c, hold, held, func() { link.Thaw(faultnet.Up) }
}

// postponed is frozen for the Sends of any provider: those that are held are posted later.
func (r *lateRig) postponed(xid uint32, _ int64) (c *nfsclient.Client, hold, held, release func()) {
	l := new(lateSends)
	c = r.connect(xid, func(ctx context.Context) (oncrpc.Transport, error) {
		d := transport.WrapDialer(r.srv.by.rdma(), func(ep transport.Endpoint) transport.Endpoint {
			l.Endpoint = ep
			return l
		})
		return rpcrdma.Dial(ctx, d, r.srv.addr, rpcrdma.Config{Logger: quiet})
	})
	held = func() {
		hang.Until(r.t, "a Send is held", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.sends) > 0
		})
	}
	return c, l.hold, held, func() { l.release(r.t) }
}

// lateSends is an endpoint whose Sends can be held.
type lateSends struct {
	transport.Endpoint
	mu      sync.Mutex // guards what follows
	holding bool
	sends   []*transport.WorkRequest
}

func (l *lateSends) Post(wrs ...*transport.WorkRequest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holding {
		l.sends = append(l.sends, wrs...)
		return nil
	}
	return l.Endpoint.Post(wrs...)
}

func (l *lateSends) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = true
}

func (l *lateSends) release(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holding = false
	if err := l.Endpoint.Post(l.sends...); err != nil {
		t.Error(err)
	}
}

// done waits for the end of a call.
func (r *lateRig) done(what string, call chan error) {
	r.t.Helper()
	select {
	case err := <-call:
		if err != nil {
			r.t.Errorf("%s: %v", what, err)
		}
	case <-time.After(30 * time.Second):
		r.t.Fatalf("%s: not answered for 30 s", what)
	}
}

// holds checks the contents of the file.
func (r *lateRig) holds(want []byte) {
	r.t.Helper()
	got := make([]byte, len(want)+1)
	res, err := r.c.Read(r.t.Context(), r.file, 0, got)
	if err != nil {
		r.t.Fatal(err)
	}
	if got = got[:res.N]; !bytes.Equal(got, want) {
		r.t.Errorf("the file has %d bytes, %.20q..., want %d, %.20q...",
			len(got), got, len(want), want)
	}
}

// TestLateCopy: a call is delayed on its way. The client repeats it on another connection and gets
// a reply, then makes a newer call and gets a reply too. Then the first copy arrives. It gets the
// same reply as the repeated call, and does not undo the newer one.
//
// Over TCP the client comes back from the same port, which is possible only when the server's
// kernel has ended the lost connection. TestOnceDataLate of oncrpc has what may still be queued
// there.
func TestLateCopy(t *testing.T) {
	const xid = 77
	before, newer := bytes.Repeat([]byte("old"), 340_000), bytes.Repeat([]byte("new"), 340_000)
	write := func(data []byte) func(context.Context, *nfsclient.Client, nfs3.FH) error {
		return func(ctx context.Context, c *nfsclient.Client, h nfs3.FH) error {
			res, err := c.Write(ctx, h, 0, data, nfs3.Unstable)
			if err == nil && res.N != len(data) {
				err = fmt.Errorf("%d bytes of %d were written", res.N, len(data))
			}
			return err
		}
	}
	truncate := func(ctx context.Context, c *nfsclient.Client, h nfs3.FH) error {
		_, err := c.SetAttr(ctx, h, nfs3.Sattr{Size: nfs3.Set64{Set: true}}, nil)
		return err
	}
	tests := []struct {
		name   string
		old    func(context.Context, *nfsclient.Client, nfs3.FH) error
		newer  []byte
		frozen int64 // how many bytes of the old call pass; -1: its Send is held
	}{
		{"a WRITE", write(before), newer, 0},
		{"the data of a WRITE", write(before), newer, 300_000},
		{"the last of a WRITE", write(before), newer, int64(len(before))},
		{"a short WRITE", write(before[:100]), newer[:100], 0},
		{"SETATTR", truncate, newer, 0},
		{"the Send of a WRITE", write(before), newer, -1},
		{"the Send of a short WRITE", write(before[:100]), newer[:100], -1},
		{"the Send of a SETATTR", truncate, newer, -1},
	}
	for name := range carriers(t) {
		if name == "tcp" {
			continue
		}
		for _, tt := range tests {
			if tt.frozen >= 0 && name != "iwarp" {
				continue // only TCP has a stream of bytes
			}
			t.Run(name+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				r := newLateRig(t, carriers(t)[name])
				connect := r.postponed
				if tt.frozen >= 0 {
					connect = r.frozen
				}
				first, hold, held, release := connect(xid, tt.frozen)
				hold()
				late := make(chan error, 1)
				go func() { late <- tt.old(context.Background(), first, r.file) }()
				held()

				second := r.connect(xid, r.direct)
				again := make(chan error, 1)
				go func() { again <- tt.old(context.Background(), second, r.file) }()
				r.done("the repeated call", again)
				if err := write(tt.newer)(t.Context(), r.c, r.file); err != nil {
					t.Fatal(err)
				}
				release()
				r.done("the late call", late)
				r.holds(tt.newer)
			})
		}
	}
}

// TestLateCopyOther: a call with the same XID and range, but other data, is another call. A
// restarted client may send such calls.
func TestLateCopyOther(t *testing.T) {
	for name, by := range carriers(t) {
		for _, n := range []int{100, 1 << 20} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				s := newRestartableServer(t, by,
					func(_ nfs3.Proc, h oncrpc.Handler) oncrpc.Handler { return h })
				cred, err := oncrpc.AuthSys(*root)
				if err != nil {
					t.Fatal(err)
				}
				var file nfs3.FH
				for i, data := range [][]byte{bytes.Repeat([]byte("1"), n), bytes.Repeat([]byte("2"), n)} {
					conn, err := by.dial(t.Context(), s.addr)
					if err != nil {
						t.Fatal(err)
					}
					c := nfsclient.New(conn, cred)
					dir, err := c.Mount(t.Context(), "/")
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						o, err := c.Create(t.Context(), dir, "file", nfs3.CreateHow{})
						if err != nil {
							t.Fatal(err)
						}
						file = o.File
					}
					w := nfsclient.New(numbered{conn, 77}, cred)
					if _, err := w.Write(t.Context(), file, 0, data, nfs3.Unstable); err != nil {
						t.Fatal(err)
					}
					got := make([]byte, n)
					if _, err := c.Read(t.Context(), file, 0, got); err != nil || !bytes.Equal(got, data) {
						t.Errorf("client %d reads %.10q (%v), want %.10q", i, got, err, data)
					}
					conn.Close()
					<-conn.Done()
				}
			})
		}
	}
}
