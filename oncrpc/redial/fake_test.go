package redial_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testProgram = 0x20000004

// fakeHost is what redial.Conn dials. It records the connections made (conn, last), the times of
// attempts (attempts), and the log (logged).
type fakeHost struct {
	down  error           // the error of dialling
	hangs bool            // dialling does not return
	born  error           // if not nil, new connections have ended with it
	ports bool            // callers are known by their ports
	taken bool            // no port can be kept
	most  int             // if not 0, the last attempts with born: later connections live
	dials []time.Duration // times of attempts
	since time.Time
	log   bytes.Buffer
	mu    sync.Mutex // guards all fields
	conns []*fakeConn
}

func newFakeHost() *fakeHost { return &fakeHost{since: time.Now()} }

func (p *fakeHost) dial(ctx context.Context) (oncrpc.Transport, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials = append(p.dials, time.Since(p.since))
	if p.hangs {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return nil, fmt.Errorf("dialling: %w", ctx.Err())
	}
	if p.down != nil {
		return nil, p.down
	}
	f := newFakeConn(fmt.Sprintf("fake%d", len(p.conns)))
	if p.ports {
		keep := false
		if f.from, keep = oncrpc.DialFrom(ctx); !keep {
			return nil, errors.New("not told that the port will be needed")
		}
		if !f.from.IsValid() || p.taken {
			f.from = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(1000+len(p.conns)))
		}
	}
	p.conns = append(p.conns, f)
	if p.born != nil && (p.most == 0 || len(p.dials) < p.most) {
		f.end(p.born)
	}
	return f, nil
}

// set makes future attempts fail with down, or hang.
func (p *fakeHost) set(down error, hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.hangs = down, hangs
}

// conn returns the i-th connection made.
func (p *fakeHost) conn(t *testing.T, i int) *fakeConn {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i >= len(p.conns) {
		t.Fatalf("%d connections, want %d", len(p.conns), i+1)
	}
	return p.conns[i]
}

// last returns the latest connection made.
func (p *fakeHost) last(t *testing.T) *fakeConn {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[len(p.conns)-1]
}

// attempts returns the times of attempts since it was last called.
func (p *fakeHost) attempts() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.dials
	p.dials, p.since = nil, time.Now()
	return d
}

// Write records log lines.
func (p *fakeHost) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

// logged returns and clears the log.
func (p *fakeHost) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.log.String()
	p.log.Reset()
	return strings.TrimSpace(s)
}

func (p *fakeHost) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(p, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// connect makes a Conn to p, and closes it when the test ends.
func (p *fakeHost) connect(t *testing.T, cfg redial.Config) *redial.Conn {
	t.Helper()
	cfg.Logger = p.logger()
	c, err := redial.New(context.Background(), p.dial, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.conns {
			select {
			case <-f.done:
			default:
				t.Errorf("%s is open after the end", f.name)
			}
		}
	})
	p.attempts()
	return c
}

// fakeConn is a connection of redial.Conn whose peer is the test, which takes calls (next), answers
// them, or ends the connection (end).
type fakeConn struct {
	name  addr
	from  netip.AddrPort
	calls chan call // sent and not answered
	done  chan struct{}

	mu      sync.Mutex // guards the fields below
	err     error
	dying   error // the error of calls while the connection lives on
	closed  int
	servers []*oncrpc.Server
	unsent  bool // what it has when it ends has not left
}

// call is a call that the peer has received.
type call struct {
	xid    uint32
	answer chan error // nil for a reply
}

type addr string

func (a addr) Network() string { return "fake" }
func (a addr) String() string  { return string(a) }

func newFakeConn(name string) *fakeConn {
	return &fakeConn{name: addr(name), calls: make(chan call, 1000), done: make(chan struct{})}
}

func (f *fakeConn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	if err := errors.Join(f.err, f.dying); err != nil {
		f.mu.Unlock()
		return err
	}
	binary.BigEndian.PutUint32(x.Call.Inline, x.XID)
	k := call{x.XID, make(chan error, 1)}
	f.calls <- k
	f.mu.Unlock()
	select {
	case err := <-k.answer:
		if err != nil {
			return err
		}
		x.SetReply(reply(x.XID), nil, nil)
		return nil
	case <-ctx.Done():
		return f.unless(ctx.Err())
	case <-f.done:
		return f.unless(f.Err())
	}
}

// unless returns the error of a call that ends with err, unless it has left.
func (f *fakeConn) unless(err error) error {
	if f.unsent {
		return fmt.Errorf("%w: %w", oncrpc.ErrNotSent, err)
	}
	return err
}

// reply is an accepted reply without results.
func reply(xid uint32) []byte {
	return append(binary.BigEndian.AppendUint32(nil, xid), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0)
}

// end ends the connection.
func (f *fakeConn) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		close(f.done)
	}
}

// next returns the next call that has been sent.
func (f *fakeConn) next(t *testing.T) call {
	t.Helper()
	synctest.Wait()
	select {
	case k := <-f.calls:
		return k
	default:
		t.Fatalf("no call was sent over %s", f.name)
		panic("unreachable")
	}
}

// idle checks that no call was sent.
func (f *fakeConn) idle(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if n := len(f.calls); n > 0 {
		t.Errorf("%d calls were sent over %s", n, f.name)
	}
}

func (f *fakeConn) Serve(s *oncrpc.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers = append(f.servers, s)
}

func (f *fakeConn) CallsFrom() netip.AddrPort { return f.from }

func (f *fakeConn) LocalAddr() net.Addr  { return "local of " + f.name }
func (f *fakeConn) RemoteAddr() net.Addr { return f.name }

func (f *fakeConn) Close() error {
	f.mu.Lock()
	f.closed++
	f.mu.Unlock()
	f.end(fmt.Errorf("fake: %w", net.ErrClosed))
	return nil
}

func (f *fakeConn) Done() <-chan struct{} { return f.done }

func (f *fakeConn) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// exchange returns a call.
func exchange(repeat bool) *oncrpc.Exchange {
	h := oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: testProgram, Version: 1}
	var e xdr.Encoder
	h.Encode(&e)
	return &oncrpc.Exchange{Call: e.Message(), MaxReply: 24, MayRepeat: repeat}
}

// start makes a call in the background.
func start(ctx context.Context, c *redial.Conn, x *oncrpc.Exchange) chan error {
	done := make(chan error, 1)
	go func() { done <- c.RoundTrip(ctx, x) }()
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

func returned(t *testing.T, done chan error, want error) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		return err
	default:
		t.Fatalf("the call still waits, it should return %v", want)
		panic("unreachable")
	}
}

// Errors that end connections and attempts.
var (
	errReset   = errors.New("connection reset") // not net.ErrClosed: transports need not say so
	errRefused = errors.New("connection refused")
	errClosed  = net.ErrClosed
)
