package oncrpc

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// forwarded is a call that ServerConfig.Forward handles. It wraps the transport's IncomingCall, and
// counts as pending until its reply is sent.
type forwarded struct {
	IncomingCall
	server *Server
	owner  xdr.Releaser // of the reply
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

// hand passes a call to ServerConfig.Forward.
func (s *Server) hand(in IncomingCall) {
	s.stats.forwarded.Add(1)
	f := forwardeds.Get().(*forwarded)
	*f = forwarded{IncomingCall: in, server: s}
	s.forward(f)
}

// Reply sends a reply. The call has ended when the reply is sent.
func (f *forwarded) Reply(m xdr.Message) {
	f.owner, m.Owner = m.Owner, f
	f.IncomingCall.Reply(m)
}

// Drop ends the call without an answer.
func (f *forwarded) Drop() {
	f.server.stats.dropped.Add(1)
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
	*f = forwarded{}
	forwardeds.Put(f)
	s.ended()
}
