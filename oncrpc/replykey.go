package oncrpc

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// replyKey tells a call that is sent again from all others. The sum is there because clients begin with the same
// transaction ids after a restart, and may share an address. Arguments count as a flavour has unwrapped them.
type replyKey struct {
	host      peerhost.Host // of the caller, who comes back with another port
	xid       uint32
	program   uint32
	version   uint32
	procedure uint32
	sum       uint64 // of the identity and the inline arguments
	flavor    AuthFlavor
}

// makeKey returns the key of a call whose header is decoded. There is none if bulk data that is still to be fetched has
// its place before other arguments, because what lies behind it cannot be read yet.
func makeKey(seed maphash.Seed, c *Call) (k replyKey, ok bool) {
	args := *c.Args // so that c.Args stays where it is
	rest := args.Raw(args.Remaining())
	if args.Err() != nil {
		return k, false
	}
	k.host = peerhost.Of(c.Conn.RemoteAddr())
	k.xid, k.program, k.version, k.procedure = c.XID, c.Program, c.Version, c.Procedure
	k.flavor = c.Cred.Flavor
	// The identity and not the credential, which a flavour may make anew for each transmission.
	c.key = c.Identity().AppendKey(append(c.key[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(c.key, uint32(len(c.key)))
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(c.key)
	h.Write(rest)
	k.sum = h.Sum64()
	return k, true
}
