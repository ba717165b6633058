package oncrpc

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// maxSummed is how many bytes of the arguments tell calls of the same transaction id apart. All
// that NFS has but the data of WRITE is shorter.
const maxSummed = 1 << 10

// replyKey tells a call that is sent again from all others. The sum is there because clients begin
// with the same transaction ids after a restart, and may share an address. Arguments count as a
// flavour has unwrapped them, and in the same way whether bulk data came among them or beside them.
type replyKey struct {
	host peerhost.Host // of the caller, who comes back with another port
	xid  uint32
	procKey
	sum    uint64 // of the identity and the first of the arguments
	flavor AuthFlavor
}

// procKey is a procedure.
type procKey struct{ program, version, procedure uint32 }

// makeKey returns the key of a call whose header is decoded, by its inline arguments. There is none
// if bulk data that is still to be fetched has its place before other arguments, because what lies
// behind it cannot be read yet.
func makeKey(seed maphash.Seed, c *Call) (k replyKey, ok bool) {
	args := *c.Args // so that c.Args stays where it is
	rest := args.Raw(args.Remaining())
	if args.Err() != nil {
		return k, false
	}
	k.host = peerhost.Of(c.Conn.RemoteAddr())
	k.xid, k.procKey = c.XID, procKey{c.Program, c.Version, c.Procedure}
	k.flavor = c.Cred.Flavor
	// The identity and not the credential, which a flavour may make anew for each transmission.
	c.key = c.Identity().AppendKey(append(c.key[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(c.key, uint32(len(c.key)))
	c.inline = rest[:min(len(rest), maxSummed)]
	k.sum = c.sum(seed, 0, nil)
	return k, true
}

// sum returns the sum of a call with n bytes of bulk data at the end of its arguments.
func (c *Call) sum(seed maphash.Seed, n int, data [][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(c.key)
	h.Write(c.inline)
	n = min(n, maxSummed-len(c.inline))
	var padding [3]byte
	pad := padding[:min(xdr.RoundUp(n), maxSummed-len(c.inline))-n]
	for _, p := range data {
		p = p[:min(n, len(p))]
		h.Write(p)
		n -= len(p)
	}
	h.Write(pad)
	return h.Sum64()
}
