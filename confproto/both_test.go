package confproto

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// serveBack has a client answer calls of the server's, and returns what makes these.
func (r *rig) serveBack(c *client, programs ...oncrpc.Program) *client {
	r.t.Helper()
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(programs...)
	back.Handle(r.program())
	r.t.Cleanup(func() { back.Close() })
	c.Serve(back)
	return &client{Conn: r.peer(c), t: r.t}
}

// TestConfigureCrossing: the server configures the connection, too, and that is under way when the
// client's call comes. The client's sizes hold for replies, whatever calls it accepts.
func TestConfigureCrossing(t *testing.T) {
	for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(dialect.String(), func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				cfg := rpcrdma.Config{Dialect: dialect, NoPrivateData: true}
				r := newRig(t, p, setup{server: cfg, programs: []oncrpc.Program{New(Config{})}})
				c := r.dial(cfg)
				slow, agreed, goOn := slowly(New(Config{}), false)
				peer := r.serveBack(c, slow)
				end := make(chan error, 1)
				go func() {
					_, err := Configure(t.Context(), peer.Conn, Options{MaxCall: 4096, MaxReply: 2048})
					end <- err
				}()
				wait(t, agreed)
				if _, err := Configure(t.Context(), c.Conn, Options{MaxCall: 16384, MaxReply: 32768}); err != nil {
					t.Fatal(err)
				}
				close(goOn)
				if err := wait(t, end); err != nil {
					t.Fatal(err)
				}
				c.checkSizes(16384, 32768)
				want := rpcrdma.Settings{MaxSend: 4096, MaxRecv: 2048, MaxReplySend: 32768, MaxCallRecv: 16384, Reads: 16, PeerReads: 16}
				if is := peer.Settings(); is != want {
					t.Errorf("the server has %+v in force, want %+v", is, want)
				}
			})
		})
	}
}

// TestConfigureBothEnds: both ends configure the connection again and again, to all sizes, while
// there are calls of all sizes both ways. No call fails, and no message is longer than the size
// that the other end has named for its kind, even if the server has little memory for receives.
func TestConfigureBothEnds(t *testing.T) {
	const callers, rounds = 8, 8
	for _, memory := range []int64{0, 64 << 10} {
		for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(fmt.Sprintf("memory %d, %v", memory, dialect), func(t *testing.T) {
				onPosted(t, func(t *testing.T, p provider) {
					cfg := rpcrdma.Config{Dialect: dialect, NoPrivateData: true, ReceiveMemory: memory, Align: 512}
					tp := newTap(t, MinSize)
					r := newRig(t, p.tapped(tp), setup{server: cfg, programs: []oncrpc.Program{New(Config{MaxCall: MaxSize})}})
					c := r.dial(cfg)
					ends := []*client{c, r.serveBack(c, New(Config{MaxCall: 5000}))}
					seed := rand.Uint64()
					ctx, stop := context.WithCancel(t.Context())
					var configuring, calling sync.WaitGroup
					for i, end := range ends {
						configuring.Go(func() {
							rnd := rand.New(rand.NewPCG(seed, uint64(i)))
							for range rounds {
								o := Options{MaxCall: MinSize + rnd.IntN(MaxSize-MinSize), MaxReply: MinSize + rnd.IntN(MaxSize-MinSize)}
								if _, err := Configure(t.Context(), end.Conn, o); err != nil {
									t.Errorf("end %d, %+v: %v", i, o, err)
								}
								if err := end.exchange(rnd.IntN(70_000), rnd.IntN(70_000)); err != nil {
									t.Errorf("end %d, a call behind it: %v", i, err)
								}
							}
						})
						for j := range callers {
							calling.Go(func() {
								rnd := rand.New(rand.NewPCG(seed, uint64(i*callers+j+2)))
								for ctx.Err() == nil {
									recv := rnd.IntN(2000) << rnd.IntN(6)
									var args oncrpc.Marshaler = &testArgs{uint32(recv), filled(rnd.IntN(2000) << rnd.IntN(6))}
									if j%2 == 0 { // which may be padded
										args = (*bulkArgs)(args.(*testArgs))
									}
									if err := end.call(args, recv); err != nil {
										t.Errorf("end %d: %v", i, err)
										return
									}
								}
							})
						}
					}
					configuring.Wait()
					stop()
					calling.Wait()
					t.Logf("seed %#x; %v", seed, tp)
					for i, end := range ends {
						if err := end.Err(); err != nil {
							t.Errorf("end %d: %v", i, err)
						}
					}
				})
			})
		}
	}
}
