package oncrpc

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// maxSummed is how many bytes of the arguments distinguish calls with the same transaction id. All
// arguments of NFS are shorter, except the data of WRITE.
const maxSummed = 1 << 10

// replyKey identifies a call and its copies. It includes a sum, because clients reuse transaction
// ids after a restart and may share an address. The sum covers the arguments as the flavour
// unwrapped them, and is the same whether bulk data was in the message or came separately.
type replyKey struct {
	host peerhost.Host // without the port, which changes when the client reconnects
	xid  uint32
	procKey
	sum    uint64 // over the identity and the first maxSummed bytes of the arguments
	flavor AuthFlavor
}

// procKey identifies a procedure.
type procKey struct{ program, version, procedure uint32 }

// makeKey returns the key of a call, with a sum over the inline arguments. It fails if bulk data
// that has not arrived precedes other arguments, because those cannot be read yet.
func makeKey(seed maphash.Seed, c *Call) (k replyKey, ok bool) {
	args := *c.Args // a copy, so that c.Args does not move
	rest := args.Raw(args.Remaining())
	if args.Err() != nil {
		return k, false
	}
	k.host = peerhost.Of(c.Conn.RemoteAddr())
	k.xid, k.procKey = c.XID, procKey{c.Program, c.Version, c.Procedure}
	k.flavor = c.Cred.Flavor
	// Use the identity, because a flavour may make the credential anew for each transmission.
	c.key = c.Identity().AppendKey(append(c.key[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(c.key, uint32(len(c.key)))
	c.inline = rest[:min(len(rest), maxSummed)]
	k.sum = c.sum(seed, 0, nil)
	return k, true
}

// sum returns the sum of a call whose arguments end with n bytes of bulk data.
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
