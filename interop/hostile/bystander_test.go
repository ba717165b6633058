package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// bystander is a good client on its own host.
type bystander struct {
	name   string
	conn   oncrpc.Transport
	end    func() // waits, after the end of conn, for what is below
	client *nfsclient.Client
	file   nfs3.FH
	data   []byte
	rounds int

	calls   int
	longest time.Duration // that a call has taken
	slowest string        // which that was
}

var (
	burst = soak.Amount(20, 60)                     // rounds of a bystander in a row
	pause = soak.Amount(4*time.Second, time.Second) // between its later rounds
)

// patience is how long a bystander may take for something short. It distinguishes one that is
// served from one that is starved: the server's time limits for attackers are longer.
const patience = time.Minute

// transferSize is the size of a bystander's READs and WRITEs in bytes.
const transferSize = 64 << 10

// Bystanders connect before an attack or during it.
const (
	early = iota + 1
	late
)

// join connects two bystanders, each from its own host: one by the way that is attacked, or else by
// iWARP, and one over TCP.
func (s *site) join(ctx context.Context, when int, attacked way) ([]*bystander, error) {
	if attacked == byTCP || attacked == byHTTP {
		attacked = byIWARP
	}
	name := map[int]string{early: "early", late: "late"}[when]
	var all []*bystander
	for i, w := range []way{attacked, byTCP} {
		b := &bystander{name: fmt.Sprintf("%s over %v", name, w), data: make([]byte, transferSize)}
		host := fmt.Sprintf("%s.%d.%d", s.net, when, 1+i)
		if err := b.time("connecting", func() (err error) {
			b.conn, b.end, err = s.dial(ctx, host, w)
			return err
		}); err != nil {
			return all, fmt.Errorf("%s: %w", b.name, err)
		}
		all = append(all, b)
		b.client = nfsclient.New(b.conn, oncrpc.AuthNone())
		if err := b.mount(ctx); err != nil {
			return all, fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return all, nil
}

// mount mounts the export, and makes the bystander's file.
func (b *bystander) mount(ctx context.Context) error {
	return b.time("MNT and CREATE", func() error {
		root, err := b.client.Mount(ctx, exportPath)
		if err != nil {
			return err
		}
		o, err := b.client.Create(ctx, root, b.name, nfs3.CreateHow{Set: nfs3.Sattr{Mode: anybody}})
		b.file = o.File
		return err
	})
}

// anybody is the mode of files that everybody may read and write.
var anybody = nfs3.Set32{Set: true, To: 0o666}

// time makes and times a call, or several that count as one.
func (b *bystander) time(what string, call func() error) error {
	began := time.Now()
	if err := call(); err != nil {
		return fmt.Errorf("%s: %w after %v", what, err, time.Since(began))
	}
	b.calls++
	if took := time.Since(began); took > b.longest {
		b.longest, b.slowest = took, what
	}
	return nil
}

// round is the work that a bystander repeats: small and large calls, in both directions.
func (b *bystander) round(ctx context.Context) error {
	b.rounds++
	for i := range b.data {
		b.data[i] = byte(i%251 + b.rounds)
	}
	if err := b.time("NULL", func() error { return b.client.Null(ctx) }); err != nil {
		return err
	}
	if err := b.time("WRITE", func() error {
		_, err := b.client.Write(ctx, b.file, 0, b.data, nfs3.Unstable)
		return err
	}); err != nil {
		return err
	}
	if err := b.time("GETATTR", func() error {
		_, err := b.client.GetAttr(ctx, b.file)
		return err
	}); err != nil {
		return err
	}
	back := make([]byte, len(b.data))
	if err := b.time("READ", func() error {
		_, err := b.client.Read(ctx, b.file, 0, back)
		return err
	}); err != nil {
		return err
	}
	if !bytes.Equal(b.data, back) {
		return fmt.Errorf("READ returns other data than was written")
	}
	return nil
}

// rounds lets all bystanders make n rounds with pauses, and returns how long that took.
func rounds(t *testing.T, all []*bystander, n int, pause time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	var group sync.WaitGroup
	for _, b := range all {
		group.Go(func() {
			for range n {
				if err := b.round(t.Context()); err != nil {
					t.Errorf("%s: %v", b.name, err)
					return
				}
				time.Sleep(pause)
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// longest returns the longest time that a call took, and names that call.
func longest(all []*bystander) (took time.Duration, what string) {
	for _, b := range all {
		if b.longest > took {
			took, what = b.longest, b.name+": "+b.slowest
		}
	}
	return took, what
}

// leave closes their connections.
func leave(all []*bystander) {
	for _, b := range all {
		b.conn.Close()
		<-b.conn.Done()
		b.end()
	}
}
