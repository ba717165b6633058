package oncrpc

import (
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// forwarded is a call that ServerConfig.Forward handles. It wraps the transport's IncomingCall, and
// counts as pending until its reply is sent.
type forwarded struct {
	IncomingCall
	server *Server
	owner  xdr.Releaser  // of the reply
	turn   atomic.Uint32 // odd while nobody has ended the call; grows with each use
}

var forwardeds = sync.Pool{New: func() any { return new(forwarded) }}

// serves reports whether a call is for a registered program, whatever the version. It does not move
// the decoder.
func (s *Server) serves(call *xdr.Decoder) bool {
	d := *call
	if d.Remaining() < 4*4 {
		return false
	}
	d.Uint32() // xid
	d.Uint32() // mtype
	version, program := d.Uint32(), d.Uint32()
	_, ok := s.programs.Load().versions[program]
	return ok && version == Version
}

// hand passes a call to ServerConfig.Forward. If that panics, the call is answered like one whose
// handler panics, unless it has ended already.
func (s *Server) hand(in IncomingCall) {
	atomic.AddUint64(&s.stats.Forwarded, 1)
	d := *in.Message()
	xid := d.Uint32()
	f := forwardeds.Get().(*forwarded)
	f.IncomingCall, f.server = in, s
	turn := f.turn.Add(1)
	conn, returned := in.Conn(), false
	defer func() {
		if returned {
			return
		}
		atomic.AddUint64(&s.stats.Panics, 1)
		s.log.Error("rpc forwarding panicked", "peer", conn.RemoteAddr(), "panic", recover(),
			"stack", string(debug.Stack()))
		if f.turn.CompareAndSwap(turn, turn+1) {
			f.fail(xid) // and is not reused, in case somebody still has it
		}
	}()
	s.forward(f)
	returned = true
}

// take reports whether the caller may end the call.
func (f *forwarded) take() bool {
	turn := f.turn.Load()
	return turn%2 == 1 && f.turn.CompareAndSwap(turn, turn+1)
}

// fail answers the call with SYSTEM_ERR.
func (f *forwarded) fail(xid uint32) {
	atomic.AddUint64(&f.server.stats.Errors, 1)
	var e xdr.Encoder
	encodeError(&e, xid, new(Auth), &AcceptError{Stat: SystemErr})
	m := e.Message()
	m.Owner = (*pending)(f.server)
	f.IncomingCall.Reply(m)
}

// pending is a call that ends when its reply is released.
type pending Server

// Release is called when the reply has been sent or cannot be sent any more.
func (p *pending) Release() { (*Server)(p).ended() }

// Reply sends a reply. The call has ended when the reply is sent.
func (f *forwarded) Reply(m xdr.Message) {
	if !f.take() {
		m.Release()
		return
	}
	f.owner, m.Owner = m.Owner, f
	f.IncomingCall.Reply(m)
}

// Drop ends the call without an answer.
func (f *forwarded) Drop() {
	if !f.take() {
		return
	}
	atomic.AddUint64(&f.server.stats.Dropped, 1)
	f.IncomingCall.Drop()
	f.end()
}

// Release is called when the reply has been sent or cannot be sent any more.
func (f *forwarded) Release() {
	if f.owner != nil {
		f.owner.Release()
	}
	f.end()
}

func (f *forwarded) end() {
	s := f.server
	f.IncomingCall, f.server, f.owner = nil, nil, nil
	forwardeds.Put(f)
	s.ended()
}
