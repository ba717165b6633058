package nfsdemo

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// TestFaultyPath: mounts that share an association read back what they wrote, whatever the path
// does to SCTP's datagrams.
func TestFaultyPath(t *testing.T) {
	for _, path := range []struct {
		name string
		way  faultnet.Way
		saw  func(*faultnet.Counters) int64
	}{
		{"1% loss", faultnet.Way{Loss: 0.01}, func(c *faultnet.Counters) int64 { return c.Lost.Load() }},
		{"5% loss", faultnet.Way{Loss: 0.05}, func(c *faultnet.Counters) int64 { return c.Lost.Load() }},
		{"reordering", faultnet.Way{Reorder: 0.05},
			func(c *faultnet.Counters) int64 { return c.Reordered.Load() }},
		{"duplication", faultnet.Way{Duplicate: 0.05},
			func(c *faultnet.Counters) int64 { return c.Duplicated.Load() }},
		{"corruption", faultnet.Way{Flip: 2e-6},
			func(c *faultnet.Counters) int64 { return c.Flipped.Load() }},
		{"all of these", faultnet.Way{Loss: 0.01, Reorder: 0.05, Duplicate: 0.05, Flip: 2e-6},
			func(c *faultnet.Counters) int64 { return min(c.Lost.Load(), c.Flipped.Load()) }},
	} {
		if !soak.On && path.name != "all of these" {
			continue
		}
		path.way.Buffer = 8 << 20
		for _, draft := range []bool{false, true} {
			t.Run(path.name+map[bool]string{true: ", draft"}[draft], func(t *testing.T) {
				t.Parallel()
				const seed = 1
				faults := new(faultnet.Counters)
				cfg := iwarp.Config{Logger: quiet}
				if draft {
					cfg.Enhanced = mpa.EnhancedNever
				}
				low := sctp.Config{Draft: draft, Counters: new(sctp.Counters), Logger: quiet}
				l, d, network := sctprig.ListenBehind(t, cfg, low, faultnet.Config{
					Seed: seed, Up: path.way, Down: path.way, Counters: faults,
				})
				fs, err := memfs.New(memfs.Config{})
				if err != nil {
					t.Fatal(err)
				}
				srv := newServer(t, fs)
				served := make(chan error, 1)
				go func() { served <- rpcrdma.Serve(t.Context(), l, srv, rpcrdma.Config{Logger: quiet}) }()
				var conns [3]*rpcrdma.Conn
				var mounts sync.WaitGroup
				for i := range conns {
					conns[i], err = rpcrdma.Dial(t.Context(), d, l.Addr().String(),
						rpcrdma.Config{Logger: quiet})
					if err != nil {
						t.Fatal(err)
					}
					mounts.Go(func() {
						if err := writeAndRead(t, conns[i], "abc"[i:i+1]); err != nil {
							t.Error(err)
						}
					})
				}
				mounts.Wait()
				for _, ways := range []faultnet.Direction{faultnet.Up, faultnet.Down} {
					// Let the closing through: otherwise the peer notices only by a long silence.
					network.SetWay(ways, faultnet.Way{})
				}
				for _, conn := range conns {
					conn.Close()
					hang.Receive(t, "the end of a mount", conn.Done())
				}
				srv.Shutdown(t.Context())
				hang.Receive(t, "the end of the server", served)
				if n := low.Counters.Stats().Associations; n != 2 {
					t.Errorf("%d ends of associations, want 2", n)
				}
				if path.saw(faults) == 0 {
					t.Error("nothing has happened on the path")
				}
				if n := low.Counters.Stats().Lost; n != 0 {
					t.Errorf("%d associations were lost", n)
				}
			})
		}
	}
}

// writeAndRead writes a file and reads it back.
func writeAndRead(t *testing.T, conn *rpcrdma.Conn, name string) error {
	cred, err := oncrpc.AuthSys(*root)
	if err != nil {
		return err
	}
	c := nfsclient.New(conn, cred)
	dir, err := c.Mount(t.Context(), "/")
	if err != nil {
		return err
	}
	o, err := c.Create(t.Context(), dir, name, nfs3.CreateHow{})
	if err != nil {
		return err
	}
	data := make([]byte, 2<<20)
	rand.NewChaCha8([32]byte{name[0]}).Read(data)
	const step = 128 << 10
	ctx, cancel := context.WithTimeout(t.Context(), 4*hang.Patience)
	defer cancel()
	for off := 0; off < len(data); off += step {
		if _, err := c.Write(ctx, o.File, uint64(off), data[off:off+step], nfs3.Unstable); err != nil {
			return err
		}
	}
	got := make([]byte, len(data))
	for off := 0; off < len(data); off += step {
		if _, err := c.Read(ctx, o.File, uint64(off), got[off:off+step]); err != nil {
			return err
		}
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%s: the bytes that were read are not those that were written", name)
	}
	return nil
}
