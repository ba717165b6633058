//go:build interop

package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// backNet is how a guest reaches servers of NFSv4.1 in this process.
type backNet struct {
	host   string
	listen func(*testing.T) (transport.Listener, error)
}

// overSIW is Soft-iWARP.
var overSIW = backNet{"192.0.2.2", func(t *testing.T) (transport.Listener, error) {
	return iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: noLog})
}}

// overRXE is rdma_rxe on a wire.
func overRXE(w *wire) backNet {
	return backNet{w.host.String(), func(t *testing.T) (transport.Listener, error) {
		addr := netip.AddrPortFrom(w.host, uint16(freePort(t)))
		return roce.Listen(t.Context(), addr.String(), roce.Config{Local: w.host, Logger: noLog})
	}}
}

// mount mounts a new server in a guest.
func (n backNet) mount(t *testing.T, sh *shell, lease uint32, cfg rpcrdma.Config) (*nfs41, *mount) {
	t.Helper()
	l, err := n.listen(t)
	if err != nil {
		t.Fatal(err)
	}
	s := serve41(t, l, lease, cfg)
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	return s, newMountAt(t, sh, n.host+":/", fmt.Sprintf("/mnt/v4-%d", s.id),
		"vers=4.1", "proto=rdma", fmt.Sprintf("port=%d", port), "sec=sys", "noresvport")
}

// limited is for servers of Linux, which posts receives for backward calls only when a reply to a
// call of its own comes.
var limited = rpcrdma.Config{LimitBackwardCalls: true}

// Leases in seconds. Linux renews the short one every five seconds, the most often it does, and the
// long one never in a test.
const (
	shortLease = 7
	longLease  = 3600
)

// TestRXEBackward calls mounts over rdma_rxe back.
func TestRXEBackward(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	idle := overRXE(w).beginIdle(t, sh[0])
	overRXE(w).backward(t, sh[0])
	idle.end(t)
	g.closeShells(sh)
	g.wait(t)
	w.seen.end(t)
}

// idleMount is a mount that is called back, and calls only to renew its lease.
type idleMount struct {
	*mount
	calls, done int
	over        chan error
}

// beginIdle begins to call a new mount back. Without a limit, that would lose its connection about
// call 100.
func (n backNet) beginIdle(t *testing.T, sh *shell) *idleMount {
	t.Helper()
	s, m := n.mount(t, sh, shortLease, limited)
	b := &idleMount{mount: m, calls: 150, over: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit())
	t.Cleanup(cancel)
	if *full {
		b.calls = 2000
	}
	go func() {
		var err error
		b.done, err = s.flood(ctx, b.calls, 0)
		b.over <- err
	}()
	return b
}

// end waits for the calls.
func (b *idleMount) end(t *testing.T) {
	t.Helper()
	if err := <-b.over; err != nil || b.done != b.calls {
		t.Errorf("%d backward calls to an idle mount, error %v; want %d", b.done, err, b.calls)
	}
	b.keptConnection(t)
	b.unmount(t)
}

// keptConnection checks that a mount has had one connection.
func (m *mount) keptConnection(t *testing.T) {
	t.Helper()
	if c := m.counters(t); c.Connects != 1 {
		t.Errorf("%d connections, want 1", c.Connects)
	}
}

// backward calls mounts back (RFC 8167).
func (n backNet) backward(t *testing.T, sh *shell) {
	t.Run("unlimited", func(t *testing.T) { n.unlimited(t, sh) })
	t.Run("asked", func(t *testing.T) { n.asked(t, sh) })
	t.Run("recall", func(t *testing.T) { n.recall(t, sh) })
	t.Run("writes", func(t *testing.T) { n.writes(t, sh) })
}

// unlimited makes backward calls without a limit, until Linux lacks a receive and ends the
// connection. siw says why, unless it closes the connection before its Terminate has left.
func (n backNet) unlimited(t *testing.T, sh *shell) {
	s, m := n.mount(t, sh, longLease, rpcrdma.Config{})
	conn := s.bound().(*rpcrdma.Conn)
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit())
	defer cancel()
	go func() {
		<-conn.Done()
		cancel()
	}()
	done, err := s.flood(ctx, 2000, 0)
	t.Logf("%d backward calls, then %v", done, conn.Err())
	if conn.Err() == nil {
		t.Errorf("%d backward calls without a limit, error %v; the connection has not ended", done, err)
	}
	m.unmount(t)
}

// asked makes 2,000 backward calls to an idle mount that is asked to call now and then.
func (n backNet) asked(t *testing.T, sh *shell) {
	s, m := n.mount(t, sh, shortLease, limited)
	const calls = 2000
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit())
	defer cancel()
	if done, err := s.flood(ctx, calls, backAtOnce); done != calls {
		t.Errorf("%d backward calls, error %v; want %d", done, err, calls)
	}
	if grant, _, _ := s.bound().(*rpcrdma.Conn).Credits(); grant != backAtOnce {
		t.Errorf("Linux grants %d credits for backward calls, want %d", grant, backAtOnce)
	}
	m.keptConnection(t)
	m.unmount(t)
}

// recall recalls a delegation for reading that nobody uses.
func (n backNet) recall(t *testing.T, sh *shell) {
	s, m := n.mount(t, sh, longLease, limited)
	ctx, cancel := context.WithTimeout(t.Context(), guestLimit())
	defer cancel()
	for range 3 {
		sh.run(t, ": <"+m.at+"/file")
		if err := s.recall(ctx); err != nil {
			t.Fatal(err)
		}
	}
	m.keptConnection(t)
	m.unmount(t)
}

// backWrites is a script that writes /host/data in pieces of 256 KiB.
const backWrites = `
set -e
cd %s
i=0
while [ $i -lt %d ]; do
	dd if=/host/data of=file bs=256k skip=$i seek=$i count=1 conv=notrunc,fsync status=none
	i=$((i + 1))
done
`

// writes makes backward calls while the guest writes. Delegations for writing are recalled at once.
// In the middle the connection ends. Calls in both directions are repeated on the next one.
func (n backNet) writes(t *testing.T, sh *shell) {
	s, m := n.mount(t, sh, shortLease, limited)
	data := random(t, 4<<20)
	sh.g.put("data", data)
	limit, end := context.WithTimeout(t.Context(), guestLimit())
	defer end()
	ctx, cancel := context.WithCancel(limit)
	defer cancel()
	flooded, recalled := make(chan struct{}), make(chan struct{})
	var calls int
	go func() {
		defer close(flooded)
		var err error
		if calls, err = s.flood(ctx, math.MaxInt, 0); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	go func() {
		defer close(recalled)
		var err error
		for err == nil {
			err = s.recall(ctx)
		}
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	await := func(what string, holds func() bool) {
		if err := s.await(limit, what, holds); err != nil {
			t.Fatal(err)
		}
	}
	sh.start(t, fmt.Sprintf(backWrites, m.at, len(data)/(256<<10)))
	await("half of the data", func() bool { return len(s.file) >= len(data)/2 })
	s.bound().(io.Closer).Close()
	sh.finish(t)
	await("a backward call on the next connection", func() bool { return s.binds > 0 && s.answered > 0 })
	await("DELEGRETURN", func() bool { return s.returns > 0 })
	cancel()
	<-flooded
	<-recalled
	t.Logf("%d backward calls, %d delegations returned", calls, s.returns)
	if !bytes.Equal(s.file, data) {
		t.Error("the file has other data than was written")
	}
	if c := m.counters(t); c.Connects < 2 {
		t.Errorf("%d connections, want 2", c.Connects)
	}
	m.unmount(t)
}
