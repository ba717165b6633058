package rpcrdma_test

import (
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

// guarded is an endpoint that panics when Revoke is called where it may be on a goroutine
// of the provider's: inside a MessageHandler, a Completer or a RecvSource.
type guarded struct{ transporttest.Full }

// smallLimits is what guard imposes on each endpoint. The zero value is nothing.
var smallLimits transporttest.Limits

// guard returns ep as one that is guarded, and with smallLimits. All tests of this package
// run over such endpoints.
func guard(ep transporttest.Full) transporttest.Full {
	if smallLimits != (transporttest.Limits{}) {
		ep = transporttest.Limit(ep, smallLimits)
	}
	return guarded{ep}
}

// guardAny is guard for transporttest.WrapDialer.
func guardAny(ep transport.Endpoint) transport.Endpoint { return guard(ep.(transporttest.Full)) }

// callback is a function that providers call.
var callback = regexp.MustCompile(`\.(Received|Complete|Receive)$`)

func (g guarded) Revoke(regions ...transport.Region) error {
	select {
	case <-g.Done(): // nobody is called any more
	default:
		if stack, inside := insideCallback(); inside {
			panic("Revoke inside a callback:\n" + stack)
		}
	}
	return g.Full.Revoke(regions...)
}

// harmless has the stacks that insideCallback has found to be in no callback, so that it
// allocates nothing when one comes again.
var harmless struct {
	sync.Mutex
	stacks map[[64]uintptr]bool
}

// insideCallback reports whether a provider has called what is running.
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
type revoker struct {
	ep       transport.Endpoint
	panicked chan any
}

func (r revoker) revoke() {
	defer func() { r.panicked <- recover() }()
	r.ep.Revoke()
}

func (r revoker) Received([]transport.Message)               { r.revoke() }
func (r revoker) Complete(_ *transport.WorkRequest, _ error) { r.revoke() }

// TestGuard: the guard of all other tests notices what it is there for, and nothing else.
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
	in := revoker{g, make(chan any, 1)}
	if err := g.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 4096)}}}); err != nil {
		t.Fatal(err)
	}
	g.Start(in)
	send := &transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Done: in,
		Local: []transport.Slice{{Bytes: header(1, 0).Append(nil)}}}
	if err := g.Post(send); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"Complete", "Received"} { // of an RDMA_ERROR
		if p, ok := wait(t, in.panicked).(string); !ok || !strings.Contains(p, "revoker."+where) {
			t.Errorf("Revoke inside %s: %v", where, p)
		}
	}
	g.Close()
	wait(t, g.Done())
}
