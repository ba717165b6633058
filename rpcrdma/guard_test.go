package rpcrdma_test

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// guarded is an endpoint that panics if Revoke is called where it may run on a goroutine of the
// provider: inside a MessageHandler, a Completer or a RecvSource. It also panics if memory is used
// for something other than what it was allocated or imported for.
type guarded struct{ transporttest.FullEndpoint }

// smallLimits is what guard imposes on each endpoint. The zero value is nothing.
var smallLimits transporttest.Limits

// asDevice has real ends on a transporttest.Device.
var asDevice bool

// guard returns ep as one that is guarded, and with smallLimits. All tests of this package
// run over such endpoints.
func guard(ep transporttest.FullEndpoint) transporttest.FullEndpoint {
	if smallLimits != (transporttest.Limits{}) {
		ep = transporttest.Limit(ep, smallLimits)
	}
	return guarded{ep}
}

// guardAny is guard for transport.WrapDialer.
func guardAny(ep transport.Endpoint) transport.Endpoint {
	return guard(ep.(transporttest.FullEndpoint))
}

// keyed is a domain whose slices have a key that says what they may be used for.
type keyed struct {
	transport.Domain
	transport.Importer
}

// keyFor is above zero: the key of slices that a test posts itself.
func keyFor(access transport.Access) transport.LKey { return transport.LKey(access) + 1 }

func (d keyed) Alloc(n int, access transport.Access) (transport.Slice, error) {
	s, err := d.Domain.Alloc(n, access)
	s.Key = keyFor(access)
	return s, err
}

func (d keyed) Import(p []byte, access transport.Access) (transport.Slice, error) {
	s, err := d.Importer.Import(p, access)
	s.Key = keyFor(access)
	return s, err
}

func (g guarded) Domain() transport.Domain {
	d := g.FullEndpoint.Domain()
	return keyed{d, d.(transport.Importer)}
}

// check panics if memory is to be used for access that it is not for, or is for more.
func (g guarded) check(use string, list []transport.Slice, access transport.Access) {
	for _, s := range list {
		if s.Key > 0 && s.Key != keyFor(access) {
			panic(fmt.Sprintf("%s: %d bytes with key %d, want %d", use, s.Len(), s.Key, keyFor(access)))
		}
	}
}

func (g guarded) checkRequests(wrs []*transport.WorkRequest) {
	for _, wr := range wrs {
		switch wr.Op {
		case transport.OpRead:
			g.check("read", wr.Local, transport.LocalWrite)
		case transport.OpInvalidate:
		default:
			g.check(wr.Op.String(), wr.Local, 0)
		}
	}
}

func (g guarded) Post(wrs ...*transport.WorkRequest) error {
	g.checkRequests(wrs)
	return g.FullEndpoint.Post(wrs...)
}

func (g guarded) PostPolled(wrs ...*transport.WorkRequest) error {
	g.checkRequests(wrs)
	return g.FullEndpoint.PostPolled(wrs...)
}

func (g guarded) PostRecv(rs ...*transport.RecvRequest) error {
	for _, r := range rs {
		g.check("receive", r.Local, transport.LocalWrite)
	}
	return g.FullEndpoint.PostRecv(rs...)
}

func (g guarded) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	g.check("expose", list, access&^transport.RemoteInvalidate)
	return g.FullEndpoint.Expose(dst, list, access)
}

// callback is a function that providers call.
var callback = regexp.MustCompile(`\.(Received|Complete|Receive)$`)

func (g guarded) Revoke(regions ...transport.Region) error {
	select {
	case <-g.Done(): // no more callbacks
	default:
		if stack, inside := insideCallback(); inside {
			panic("Revoke inside a callback:\n" + stack)
		}
	}
	return g.FullEndpoint.Revoke(regions...)
}

// harmless has the stacks that insideCallback has found to be in no callback, so that it
// allocates nothing when one comes again.
var harmless struct {
	sync.Mutex
	stacks map[[64]uintptr]bool
}

// insideCallback reports whether this code was called by a provider.
func insideCallback() (stack string, inside bool) {
	var pcs [64]uintptr
	n := runtime.Callers(1, pcs[:])
	harmless.Lock()
	defer harmless.Unlock()
	if harmless.stacks[pcs] {
		return "", false
	}
	frames := runtime.CallersFrames(slices.Clone(pcs[:n]))
	var b strings.Builder
	for {
		f, more := frames.Next()
		b.WriteString(f.Function + "\n")
		inside = inside || callback.MatchString(f.Function)
		if !more {
			break
		}
	}
	if !inside {
		if harmless.stacks == nil {
			harmless.stacks = make(map[[64]uintptr]bool)
		}
		harmless.stacks[pcs] = true
	}
	return b.String(), inside
}

// revoker is a MessageHandler and a Completer that calls Revoke, which it must not.
type revoker func()

func (r revoker) Received([]transport.Message)               { r() }
func (r revoker) Complete(_ *transport.WorkRequest, _ error) { r() }

// TestGuard: the guard, which all other tests use, reports what it must, and nothing else.
func TestGuard(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	ep, err := r.fabric.Dialer(loopback.Config{}).Dial(t.Context(), rigAddr, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := guardAny(ep)
	if err := g.Revoke(); err != nil {
		t.Error(err)
	}
	panicked := make(chan any, 1)
	in := revoker(func() {
		defer func() { panicked <- recover() }()
		g.Revoke()
	})
	g.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 4096)}}})
	g.Start(in)
	send := &transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Done: in,
		Local: []transport.Slice{{Bytes: header(1, 0).Append(nil)}}}
	g.Post(send)
	for _, where := range []string{"Complete", "Received"} { // of an RDMA_ERROR
		if p, ok := wait(t, panicked).(string); !ok || !strings.Contains(p, "revoker."+where) {
			t.Errorf("Revoke inside %s: %v", where, p)
		}
	}
	g.Close()
	wait(t, g.Done())
}
