package oncrpc

import (
	"encoding/binary"
	"hash/maphash"
	"net"
	"net/netip"
)

// replyKey tells a call that is sent again from all others. The sum is there because clients begin with the same
// transaction ids after a restart, and may share an address.
type replyKey struct {
	ip        netip.Addr // of the caller, without its port: he comes back with another one
	name      string     // instead, if its address is of another kind
	xid       uint32
	program   uint32
	version   uint32
	procedure uint32
	sum       uint64 // of credential, verifier and inline arguments
}

// makeKey returns the key of a call whose header is decoded. There is none if bulk data that is still to be fetched has
// its place before other arguments, because what lies behind it cannot be read yet.
func makeKey(seed maphash.Seed, c *Call) (k replyKey, ok bool) {
	args := *c.Args // so that c.Args stays where it is
	rest := args.Raw(args.Remaining())
	if args.Err() != nil {
		return k, false
	}
	k.ip, k.name = caller(c.Conn.RemoteAddr())
	k.xid, k.program, k.version, k.procedure = c.XID, c.Program, c.Version, c.Procedure
	var h maphash.Hash
	h.SetSeed(seed)
	c.Cred.sum(&h)
	c.Verf.sum(&h)
	h.Write(rest)
	k.sum = h.Sum64()
	return k, true
}

func (a *Auth) sum(h *maphash.Hash) {
	var b [8]byte
	binary.BigEndian.PutUint32(b[:], uint32(a.Flavor))
	binary.BigEndian.PutUint32(b[4:], uint32(len(a.Body)))
	h.Write(b[:])
	body := a.Body
	if a.Flavor == FlavorSys && len(body) >= 4 {
		body = body[4:] // a stamp that means nothing (RFC 5531 appendix A), and may be the time
	}
	h.Write(body)
}

// caller returns the IP address in a, or else a's string.
func caller(a net.Addr) (ip netip.Addr, name string) {
	switch a := a.(type) {
	case nil:
		return netip.Addr{}, ""
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap(), ""
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		return p.Addr().Unmap(), ""
	}
	return netip.Addr{}, a.String()
}
