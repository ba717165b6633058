package confproto

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestConfigure: exactly the agreed values are in force at both ends afterwards, and none before.
func TestConfigure(t *testing.T) {
	silent := rpcrdma.Config{NoPrivateData: true}
	for _, tt := range []struct {
		name           string
		server, client rpcrdma.Config
		cfg            Config
		ask            Options
		before         [2]int // call and reply
		want           Reply
		after          [2]int
	}{
		{"as asked", silent, silent, Config{}, Options{MaxCall: 16384, MaxReply: 8192}, [2]int{1024, 1024}, Reply{16384, 0, 16}, [2]int{16384, 8192}},
		{"by default", silent, silent, Config{}, Options{}, [2]int{1024, 1024}, Reply{32768, 0, 16}, [2]int{32768, 32768}},
		{"the most", silent, silent, Config{MaxCall: MaxSize}, Options{MaxCall: MaxSize, MaxReply: MaxSize}, [2]int{1024, 1024}, Reply{65536, 0, 16}, [2]int{65536, 65536}},
		{"less than asked", silent, silent, Config{MaxCall: 8192}, Options{MaxCall: 65536, MaxReply: 4096}, [2]int{1024, 1024}, Reply{8192, 0, 16}, [2]int{8192, 4096}},
		// Receives are of 4096 bytes at least.
		{"more than asked", silent, silent, Config{}, Options{MaxCall: 2048, MaxReply: 2048}, [2]int{1024, 1024}, Reply{4096, 0, 16}, [2]int{4096, 2048}},
		{"nothing more", silent, silent, Config{MaxCall: MinSize}, Options{MaxCall: MinSize, MaxReply: MinSize}, [2]int{1024, 1024}, Reply{1024, 0, 16}, [2]int{1024, 1024}},
		{"private data, more", rpcrdma.Config{}, rpcrdma.Config{}, Config{}, Options{MaxCall: 16384, MaxReply: 8192}, [2]int{4096, 4096}, Reply{16384, 0, 16}, [2]int{16384, 8192}},
		{"private data, nothing is taken back", rpcrdma.Config{InlineRecv: 8192, InlineSend: 8192}, rpcrdma.Config{InlineRecv: 8192, InlineSend: 8192},
			Config{MaxCall: 2048}, Options{MaxCall: 2048, MaxReply: 2048}, [2]int{8192, 8192}, Reply{8192, 0, 16}, [2]int{8192, 8192}},
		{"private data of the client alone", silent, rpcrdma.Config{}, Config{}, Options{MaxCall: 16384, MaxReply: 8192}, [2]int{1024, 1024}, Reply{16384, 0, 16}, [2]int{16384, 8192}},
		{"private data of the server alone", rpcrdma.Config{}, silent, Config{}, Options{MaxCall: 16384, MaxReply: 8192}, [2]int{1024, 1024}, Reply{16384, 0, 16}, [2]int{16384, 8192}},
		{"one credit", rpcrdma.Config{NoPrivateData: true, Credits: 1}, silent, Config{}, Options{MaxCall: 16384, MaxReply: 8192}, [2]int{1024, 1024}, Reply{16384, 0, 16}, [2]int{16384, 8192}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
				t.Run(dialect.String(), func(t *testing.T) {
					onProviders(t, func(t *testing.T, p provider) {
						tt.server.Dialect, tt.client.Dialect = dialect, dialect
						r := newRig(t, p, setup{server: tt.server, programs: []oncrpc.Program{New(tt.cfg)}})
						r.dial(tt.client).checkSizes(tt.before[0], tt.before[1])

						c := r.dial(tt.client)
						got, err := Configure(t.Context(), c.Conn, tt.ask)
						if err != nil || got != tt.want {
							t.Fatalf("got %+v, %v, want %+v", got, err, tt.want)
						}
						c.checkSizes(tt.after[0], tt.after[1])
						is := r.peer(c).Settings()
						if is.MaxCallRecv != tt.after[0] || is.MaxReplySend != tt.after[1] {
							t.Errorf("the server has %+v in force, want %v", is, tt.after)
						}
						// Another connection is as it was.
						r.dial(tt.client).checkSizes(tt.before[0], tt.before[1])
					})
				})
			}
		})
	}
}

// TestConfigureReads: the numbers of RDMA Reads are those of the endpoints, in each direction.
func TestConfigureReads(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		for _, tt := range []struct{ serverReads, clientReads int }{{3, 5}, {-1, 5}, {3, -1}, {-1, -1}} {
			server, client := max(tt.serverReads, 0), max(tt.clientReads, 0)
			r := newRig(t, p, setup{serverReads: tt.serverReads, clientReads: tt.clientReads, programs: []oncrpc.Program{New(Config{})}})
			c := r.dial(rpcrdma.Config{})
			got, err := Configure(t.Context(), c.Conn, Options{})
			if err != nil || got.MaxRDMARead != uint32(server) {
				t.Errorf("%+v: got %+v, %v", tt, got, err)
			}
			if is := c.Settings(); is.Reads != server || is.PeerReads != client {
				t.Errorf("%+v: the client has %+v in force", tt, is)
			}
			if is := r.peer(c).Settings(); is.Reads != client || is.PeerReads != server {
				t.Errorf("%+v: the server has %+v in force", tt, is)
			}
		}
	})
}

// TestConfigureAlign: in the Draft the server's alignment reaches the client, and data is aligned
// from then on.
func TestConfigureAlign(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		for _, tt := range []struct {
			dialect rpcrdma.Dialect
			want    int
			padding int // 512 less a header of 36 bytes, one of RPC of 40, and two words
		}{{rpcrdma.Draft, 512, 428}, {rpcrdma.RFC8166, 0, 0}} {
			cfg := rpcrdma.Config{Dialect: tt.dialect, InlineRecv: 8192, Align: 512}
			r := newRig(t, p, setup{server: cfg, programs: []oncrpc.Program{New(Config{})}})
			c := r.dial(rpcrdma.Config{Dialect: tt.dialect})
			if padding := c.padding(); padding != 0 {
				t.Errorf("%v: before: %d bytes of padding", tt.dialect, padding)
			}
			got, err := Configure(t.Context(), c.Conn, Options{})
			if err != nil || got.Align != uint32(tt.want) {
				t.Errorf("%v: got %+v, %v, want alignment %d", tt.dialect, got, err, tt.want)
			}
			if is := c.Settings(); is.PeerAlign != tt.want {
				t.Errorf("%v: in force is %+v, want alignment %d", tt.dialect, is, tt.want)
			}
			if padding := c.padding(); padding != tt.padding {
				t.Errorf("%v: afterwards: %d bytes of padding, want %d", tt.dialect, padding, tt.padding)
			}
		}
	})
}

// TestConfigureTwice: the values of the second time are in force, but calls never become shorter
// than agreed before.
func TestConfigureTwice(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		r := newRig(t, p, setup{server: rpcrdma.Config{NoPrivateData: true, Credits: 1}, programs: []oncrpc.Program{New(Config{})}})
		c := r.dial(rpcrdma.Config{NoPrivateData: true})
		for _, tt := range []struct {
			ask   Options
			after [2]int
		}{
			{Options{MaxCall: 8192, MaxReply: 4096}, [2]int{8192, 4096}},
			{Options{MaxCall: 4096, MaxReply: 2048}, [2]int{8192, 4096}},
		} {
			if _, err := Configure(t.Context(), c.Conn, tt.ask); err != nil {
				t.Fatal(err)
			}
			c.checkSizes(tt.after[0], tt.after[1])
		}
	})
}

// TestConfigureBusy: even a connection on which the peer may send many calls can agree on longer
// ones, because receives get memory when messages come. (Receives that have memory cannot grow: see
// TestExpectInHandler of package rpcrdma.)
func TestConfigureBusy(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		r := newRig(t, p, setup{server: rpcrdma.Config{NoPrivateData: true}, programs: []oncrpc.Program{New(Config{})}})
		c := r.dial(rpcrdma.Config{NoPrivateData: true})
		c.checkSizes(1024, 1024)
		got, err := Configure(t.Context(), c.Conn, Options{MaxCall: 16384, MaxReply: 8192})
		if want := (Reply{16384, 0, 16}); err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		c.checkSizes(16384, 8192)
	})
}

// TestConfigureConcurrent: calls of all sizes are made while the connection is configured. None of
// them fails.
func TestConfigureConcurrent(t *testing.T) {
	for _, first := range []bool{true, false} {
		onProviders(t, func(t *testing.T, p provider) {
			r := newRig(t, p, setup{server: rpcrdma.Config{NoPrivateData: true}, programs: []oncrpc.Program{New(Config{})}})
			c := r.dial(rpcrdma.Config{NoPrivateData: true})
			if !first {
				if err := c.exchange(1, 1); err != nil {
					t.Fatal(err)
				}
			}
			var callers sync.WaitGroup
			var calls atomic.Int64
			over := make(chan struct{})
			for i := range 8 {
				callers.Go(func() {
					for n := i * 900; ; n = (n + 3700) % 40_000 {
						if err := c.exchange(n, 40_000-n); err != nil {
							t.Errorf("call of %d bytes, reply of %d: %v", n, 40_000-n, err)
							return
						}
						calls.Add(1)
						select {
						case <-over:
							return
						default:
						}
					}
				})
			}
			for range 5 {
				reply, err := Configure(t.Context(), c.Conn, Options{})
				if err != nil || reply.MaxCallSendSize < 1024 {
					t.Errorf("got %+v, %v", reply, err)
				}
				for begun := calls.Load(); calls.Load() < begun+50 && !t.Failed(); {
					if err := c.exchange(100, 100); err != nil {
						t.Fatal(err)
					}
				}
			}
			close(over)
			callers.Wait()
		})
	}
}

// slowly has CONF_RDMA of a program tell when it has begun, or has done everything but answer, and
// then wait until goOn is closed.
func slowly(p oncrpc.Program, before bool) (slow oncrpc.Program, entered <-chan struct{}, goOn chan<- struct{}) {
	begun, end := make(chan struct{}), make(chan struct{})
	pause := func() {
		begun <- struct{}{}
		<-end
	}
	handler := p.Procedures[ProcConfigure].Handler
	p.Procedures[ProcConfigure] = oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
		if before {
			pause()
		} else {
			defer pause()
		}
		return handler(ctx, c)
	}}
	return p, begun, end
}

// TestConfigureOvertaken: the server has agreed, and a long reply to another call overtakes the
// answer. There are receives for it.
func TestConfigureOvertaken(t *testing.T) {
	onPosted(t, func(t *testing.T, p provider) {
		slow, agreed, goOn := slowly(New(Config{}), false)
		r := newRig(t, p.tapped(newTap(t, 4096)), setup{programs: []oncrpc.Program{slow}})
		c := r.dial(rpcrdma.Config{})
		if err := c.exchange(0, 0); err != nil { // so that there is more than one credit
			t.Fatal(err)
		}
		end := make(chan error, 1)
		go func() {
			_, err := Configure(t.Context(), c.Conn, Options{})
			end <- err
		}()
		wait(t, agreed)
		if i := c.info(0, 20_000); i.InlineReceived < 20_000 {
			t.Errorf("the reply does not come inline: %+v", i)
		}
		close(goOn)
		if err := wait(t, end); err != nil {
			t.Error(err)
		}
		call := 32768
		if p.posted { // more than one, which cannot grow
			call = 4096
		}
		c.checkSizes(call, 32768)
	})
}

// TestConfigureCancelled: a cancelled call changes nothing at the client, and the connection still
// works, whatever the server has done.
func TestConfigureCancelled(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		slow, entered, goOn := slowly(New(Config{}), true)
		r := newRig(t, p, setup{server: rpcrdma.Config{NoPrivateData: true}, programs: []oncrpc.Program{slow}})
		c := r.dial(rpcrdma.Config{NoPrivateData: true})
		was := c.Settings()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := Configure(ctx, c.Conn, Options{MaxCall: 16384, MaxReply: 16384})
			failed <- err
		}()
		wait(t, entered)
		cancel()
		if err := wait(t, failed); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		close(goOn)
		for _, n := range []int{0, 500, 3000, 20_000} { // the server now sends up to 16 KiB inline
			if err := c.exchange(n, n); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		if is := c.Settings(); is != was {
			t.Errorf("in force is %+v, want %+v", is, was)
		}
		if is := r.peer(c).Settings(); is.MaxReplySend != 16384 {
			t.Errorf("the server has %+v in force", is)
		}
	})
}

// TestConfigureFirst: before the answer nothing but the one call, of at most 1024 bytes, is on the
// connection, whatever else there is to send (draft section 6.1).
func TestConfigureFirst(t *testing.T) {
	for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(dialect.String(), func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				cfg := rpcrdma.Config{Dialect: dialect, NoPrivateData: true}
				tp := newTap(t, MinSize)
				slow, entered, goOn := slowly(New(Config{}), true)
				r := newRig(t, p.tapped(tp), setup{server: cfg, programs: []oncrpc.Program{slow}})
				c := r.dial(cfg)
				sizes := []int{0, 900, 5000, 30_000, 100_000}
				ends := make(chan error, 1+len(sizes))
				go func() {
					_, err := Configure(t.Context(), c.Conn, Options{})
					ends <- err
				}()
				wait(t, entered)
				for _, n := range sizes {
					go func() { ends <- c.exchange(n, n) }()
				}
				for {
					grant, inFlight, waiting := c.Credits()
					if grant != 1 || inFlight != 1 {
						t.Errorf("%d credits, %d calls under way, want 1 and 1", grant, inFlight)
						break
					}
					if waiting == len(sizes) {
						break
					}
					runtime.Gosched()
				}
				first, _ := tp.seen()
				if len(first) != 1 || first[0].end != dialing || !first[0].conf() || first[0].typ != rpcrdma.TypeMsg || first[0].n > 1024 {
					t.Errorf("before the answer: %+v", first)
				}
				close(goOn)
				for range cap(ends) {
					if err := wait(t, ends); err != nil {
						t.Error(err)
					}
				}
				first, _ = tp.seen()
				if a := first[1]; a.end != accepting || a.kind != reply || a.n > 1024 {
					t.Errorf("the answer: %+v", a)
				}
				if grant, _, _ := c.Credits(); grant != 64 {
					t.Errorf("afterwards there are %d credits, want 64", grant)
				}
				c.checkSizes(32768, 32768)
			})
		})
	}
}
