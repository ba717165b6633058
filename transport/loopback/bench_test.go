package loopback

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// Rigs for measurements. Each operation is posted from a slice that is kept, because a variadic
// call through an interface would allocate otherwise.

// waiter is a Completer that one goroutine waits for.
type waiter chan error

func (w waiter) Complete(_ *transport.WorkRequest, err error) { w <- err }

// echo is a MessageHandler that answers each message from within Received.
type echo struct {
	ep  transport.Endpoint
	wrs []*transport.WorkRequest
	rs  []*transport.RecvRequest
}

func (e *echo) Received(batch []transport.Message) {
	for _, m := range batch {
		e.rs[0] = m.Receive
		e.ep.PostRecv(e.rs...)
		e.ep.Post(e.wrs...)
	}
}

// client is a MessageHandler that wakes the goroutine which waits for the answer.
type client struct {
	ep   transport.Endpoint
	rs   []*transport.RecvRequest
	woke chan struct{}
}

func (c *client) Received(batch []transport.Message) {
	for _, m := range batch {
		c.rs[0] = m.Receive
		c.ep.PostRecv(c.rs...)
		c.woke <- struct{}{}
	}
}

// ignore is a MessageHandler and Completer that does nothing.
type ignore struct{}

func (ignore) Received([]transport.Message)               {}
func (ignore) Complete(_ *transport.WorkRequest, _ error) {}

func send(n int) []*transport.WorkRequest {
	return []*transport.WorkRequest{{
		Op:    transport.OpSend,
		Local: []transport.Slice{{Bytes: make([]byte, n)}},
		Done:  ignore{},
	}}
}

func receive(n int) *transport.RecvRequest {
	return &transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, n)}}}
}

// pingPong returns a function that makes n round trips of messages of size bytes.
func pingPong(tb testing.TB, size int) (trips func(n int)) {
	here, there := dialed(tb, Config{})
	answers := &echo{ep: there, wrs: send(size), rs: make([]*transport.RecvRequest, 1)}
	calls := &client{ep: here, rs: make([]*transport.RecvRequest, 1), woke: make(chan struct{}, 1)}
	there.PostRecv(receive(size))
	here.PostRecv(receive(size))
	there.Start(answers)
	here.Start(calls)
	wrs := send(size)
	return func(n int) {
		for range n {
			if err := here.Post(wrs...); err != nil {
				tb.Fatal(err)
			}
			<-calls.woke
		}
	}
}

// tagged returns a function that carries out n operations op, a Write or a Read, of
// size bytes between two buffers, one after the other.
func tagged(tb testing.TB, op transport.Op, local, remote []byte) (ops func(n int)) {
	here, there := dialed(tb, Config{})
	there.Start(ignore{})
	here.Start(ignore{})
	r := transporttest.Expose(tb, there, []transport.Slice{{Bytes: remote}}, transport.RemoteRead|transport.RemoteWrite)
	w := make(waiter, 1)
	wrs := []*transport.WorkRequest{{
		Op:     op,
		Flags:  transport.Signaled,
		Local:  []transport.Slice{{Bytes: local}},
		Remote: transport.Remote{STag: r.STag, Offset: r.Base},
		Done:   w,
	}}
	return func(n int) {
		for range n {
			if err := here.Post(wrs...); err != nil {
				tb.Fatal(err)
			}
			if err := <-w; err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// exposures returns a function that opens and closes a window of four slices n times.
func exposures(tb testing.TB) (ops func(n int)) {
	here, _ := dialed(tb, Config{})
	list := make([]transport.Slice, 4)
	for i := range list {
		list[i].Bytes = make([]byte, 4096)
	}
	regions := make([]transport.Region, 1)
	return func(n int) {
		for range n {
			var err error
			if regions, err = here.Expose(regions[:0], list, transport.RemoteWrite); err != nil {
				tb.Fatal(err)
			}
			here.Revoke(regions...)
		}
	}
}

// invalidations returns a function that opens n windows and ends each by a request.
func invalidations(tb testing.TB) (ops func(n int)) {
	here, there := dialed(tb, Config{})
	there.Start(ignore{})
	here.Start(ignore{})
	list := []transport.Slice{{Bytes: make([]byte, 1<<16)}}
	regions := make([]transport.Region, 1)
	w := make(waiter, 1)
	wrs := []*transport.WorkRequest{{
		Op: transport.OpInvalidate, Flags: transport.Signaled, Done: w,
	}}
	return func(n int) {
		for range n {
			var err error
			if regions, err = here.Expose(regions[:0], list, transport.RemoteWrite); err != nil {
				tb.Fatal(err)
			}
			wrs[0].Invalidate = regions[0].STag
			if err := here.Post(wrs...); err != nil {
				tb.Fatal(err)
			}
			if err := <-w; err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func TestAllocs(t *testing.T) {
	const size = 1 << 16
	for _, tt := range []struct {
		name string
		ops  func(n int)
	}{
		{"send", pingPong(t, 128)},
		{"write", tagged(t, transport.OpWrite, make([]byte, size), make([]byte, size))},
		{"read", tagged(t, transport.OpRead, make([]byte, size), make([]byte, size))},
		{"expose and revoke", exposures(t)},
		{"expose and invalidate", invalidations(t)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.ops(100) // grow queues and tables
			if n := testing.AllocsPerRun(100, func() { tt.ops(10) }); n != 0 {
				t.Errorf("%v allocations for 10 operations", n)
			}
		})
	}
}

// BenchmarkSend measures a round trip of two Sends, and for comparison a value sent back and forth
// between two goroutines.
func BenchmarkSend(b *testing.B) {
	b.Run("channels", func(b *testing.B) {
		to, fro := make(chan struct{}), make(chan struct{})
		go func() {
			for range to {
				fro <- struct{}{}
			}
			close(fro)
		}()
		b.ReportAllocs()
		for b.Loop() {
			to <- struct{}{}
			<-fro
		}
		close(to)
		<-fro
	})
	b.Run("loopback", func(b *testing.B) {
		trips := pingPong(b, 128)
		b.ReportAllocs()
		for b.Loop() {
			trips(1)
		}
	})
}

// BenchmarkTagged measures Write and Read, and for comparison a plain copy between the same buffers
// in the same direction. Which of the two has the lower address can make a factor of three.
func BenchmarkTagged(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		here, there := make([]byte, size), make([]byte, size)
		for _, bm := range []struct {
			name string
			ops  func(n int)
		}{
			{"copy there", func(n int) {
				for range n {
					copy(there, here)
				}
			}},
			{"write", tagged(b, transport.OpWrite, here, there)},
			{"copy here", func(n int) {
				for range n {
					copy(here, there)
				}
			}},
			{"read", tagged(b, transport.OpRead, here, there)},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", bm.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					bm.ops(1)
				}
			})
		}
	}
}

// BenchmarkStream measures Sends of 128 bytes with many outstanding.
func BenchmarkStream(b *testing.B) {
	const window = 64
	here, there := dialed(b, Config{})
	answers := &echo{ep: there, wrs: send(128), rs: make([]*transport.RecvRequest, 1)}
	calls := &client{ep: here, rs: make([]*transport.RecvRequest, 1), woke: make(chan struct{}, window)}
	for range window {
		there.PostRecv(receive(128))
		here.PostRecv(receive(128))
	}
	there.Start(answers)
	here.Start(calls)
	wrs := send(128)
	b.ReportAllocs()
	for range window {
		here.Post(wrs...)
	}
	for b.Loop() {
		<-calls.woke
		here.Post(wrs...)
	}
	for range window {
		<-calls.woke
	}
}

func BenchmarkExpose(b *testing.B) {
	ops := exposures(b)
	b.ReportAllocs()
	for b.Loop() {
		ops(1)
	}
}

func BenchmarkInvalidate(b *testing.B) {
	ops := invalidations(b)
	b.ReportAllocs()
	for b.Loop() {
		ops(1)
	}
}
