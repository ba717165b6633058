package hostile_test

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// verbs is an RDMA connection of a bad peer by any provider, on the level of RDMA's verbs: it may
// send any bytes, reach for any memory, and take no messages.
type verbs struct {
	transport.Endpoint
	arrived chan []byte // messages; what nobody waits for is dropped
	deaf    atomic.Bool // no message is taken any more
	done    chan error  // how posted requests have ended
}

const (
	// receives is how many messages may be on their way to a bad peer, and inline their size.
	receives = 256
	inline   = 4096
)

// dialVerbs makes the connection.
func (p *peer) dialVerbs(d transport.Dialer, addr string) {
	v := &verbs{arrived: make(chan []byte, receives), done: make(chan error, 1)}
	v.Endpoint, p.err = d.Dial(p.ctx, addr, func(ep transport.Endpoint) ([]byte, error) {
		v.Endpoint = ep
		shared, _ := transport.As[transport.SharedReceiver](ep)
		shared.ShareRecv(v)
		return nil, shared.PromiseRecv(receives)
	})
	if p.ok() {
		p.verbs = v
		v.Start(v)
	}
}

// Ready implements transport.RecvSource.
func (v *verbs) Ready() bool { return !v.deaf.Load() }

// Receive implements transport.RecvSource.
func (v *verbs) Receive() *transport.RecvRequest {
	if v.deaf.Load() {
		return nil
	}
	return &transport.RecvRequest{Local: []transport.Slice{v.memory(make([]byte, inline))}}
}

// Received implements transport.MessageHandler.
func (v *verbs) Received(batch []transport.Message) {
	shared, _ := transport.As[transport.SharedReceiver](v.Endpoint)
	_ = shared.PromiseRecv(len(batch)) // an error ends the connection
	for _, m := range batch {
		select {
		case v.arrived <- m.Receive.Local[0].Bytes[:m.Len]:
		default:
		}
	}
}

// memory names memory to the provider.
func (v *verbs) memory(b []byte) transport.Slice {
	s, err := v.Domain().(transport.Importer).Import(b, transport.LocalWrite|transport.RemoteWrite)
	if err != nil {
		panic(err) // software providers take any memory
	}
	return s
}

// Complete implements transport.Completer.
func (v *verbs) Complete(_ *transport.WorkRequest, err error) {
	select {
	case v.done <- err:
	default: // an earlier request has failed
	}
}

// deafen has no further message taken.
func (p *peer) deafen() {
	if p.ok() {
		p.verbs.deaf.Store(true)
	}
}

// window exposes n bytes for the server to write.
func (p *peer) window(n uint32) (at chunks.Segment) {
	if !p.ok() {
		return at
	}
	var regions []transport.Region
	regions, p.err = p.verbs.Expose(nil, []transport.Slice{p.verbs.memory(make([]byte, n))},
		transport.RemoteWrite)
	if p.ok() {
		at = chunks.Segment{Handle: uint32(regions[0].STag), Offset: regions[0].Base, Length: n}
	}
	return at
}

// post carries out requests, and waits for the last of them.
func (p *peer) post(wrs ...*transport.WorkRequest) {
	if !p.ok() {
		return
	}
	for _, wr := range wrs {
		wr.Done = p.verbs
	}
	wrs[len(wrs)-1].Flags = transport.Signaled
	if p.err = p.verbs.Post(wrs...); p.ok() {
		p.err = <-p.verbs.done
	}
}

// floodPosts posts requests again and again, as many as the queue takes. It pauses as flood does.
func (p *peer) floodPosts(make func() *transport.WorkRequest) {
	for p.ok() {
		var wrs []*transport.WorkRequest
		for range p.verbs.Info().SendDepth {
			wrs = append(wrs, make())
		}
		p.post(wrs...)
		p.sleep(time.Millisecond)
	}
}

// floodSends sends messages again and again.
func (p *peer) floodSends(make func() []byte) {
	p.floodPosts(func() *transport.WorkRequest { return p.sends(make()) })
}

// sends returns a Send.
func (p *peer) sends(message []byte) *transport.WorkRequest {
	wr := &transport.WorkRequest{Op: transport.OpSend}
	if len(message) > 0 {
		wr.Local = []transport.Slice{p.verbs.memory(message)}
	}
	return wr
}

// writes returns an RDMA Write to memory that is guessed.
func (p *peer) writes(data []byte) *transport.WorkRequest {
	wr := p.sends(data)
	wr.Op, wr.Remote.STag = transport.OpWrite, transport.STag(rand.Uint32())
	return wr
}

// gets returns an RDMA Read.
func (p *peer) gets(from chunks.Segment) *transport.WorkRequest {
	wr := p.sends(make([]byte, from.Length))
	wr.Op = transport.OpRead
	wr.Remote = transport.Remote{STag: transport.STag(from.Handle), Offset: from.Offset}
	return wr
}
