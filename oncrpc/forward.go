package oncrpc

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// forwarded is a call in the hands of ServerConfig.Forward: the IncomingCall of the transport,
// which counts as under way until its reply has left.
type forwarded struct {
	IncomingCall
	server *Server
	owner  xdr.Releaser // of the reply
}

var forwardeds = sync.Pool{New: func() any { return new(forwarded) }}

// serves reports whether a call is for a program that is registered, whatever the version. The
// decoder is not moved.
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

// hand hands a call to whoever forwards it.
func (s *Server) hand(in IncomingCall) {
	s.stats.forwarded.Add(1)
	f := forwardeds.Get().(*forwarded)
	*f = forwarded{IncomingCall: in, server: s}
	s.forward(f)
}

// Reply sends a reply. The call is over when that has left.
func (f *forwarded) Reply(m xdr.Message) {
	f.owner, m.Owner = m.Owner, f
	f.IncomingCall.Reply(m)
}

// Drop gives the call up.
func (f *forwarded) Drop() {
	f.server.stats.dropped.Add(1)
	f.IncomingCall.Drop()
	f.end()
}

// Release is called when the reply has left, or never will.
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
