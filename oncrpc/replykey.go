package oncrpc

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// replyKey identifies a call and its copies. It includes a sum, because clients reuse transaction
// ids after a restart and may share an address. The sum covers the identity and the arguments as
// the flavour unwrapped them, and is the same whether bulk data was in the message or came
// separately.
type replyKey struct {
	host hostID
	port uint16 // Origin.keyPort
	xid  uint32
	procKey
	flavor AuthFlavor
	sum    uint64
}

// procKey identifies a procedure.
type procKey struct{ program, version, procedure uint32 }

// makeKey returns the key of a call, with a sum over the inline arguments. It fails if bulk data
// that has not arrived precedes other arguments, because those cannot be read yet.
func makeKey(c *Call) (k replyKey, ok bool) {
	args := *c.Args // a copy, so that c.Args does not move
	c.inline = args.Raw(args.Remaining())
	if args.Err() != nil {
		return k, false
	}
	// Use the identity, because a flavour may make the credential anew for each transmission.
	c.key = c.Identity().AppendKey(append(c.key[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(c.key, uint32(len(c.key)))
	c.once.begin()
	return replyKey{
		host: c.origin.host, port: c.origin.keyPort(), xid: c.XID,
		procKey: procKey{c.Program, c.Version, c.Procedure},
		flavor:  c.Cred.Flavor, sum: c.once.hash.Sum64(),
	}, true
}

// newHash returns a hash with a secret seed. That of package hash/maphash takes four times as long,
// which is a third of the time of a WRITE of 1 MiB.
func newHash() *xxh3.Hasher { return xxh3.NewSeed(rand.Uint64()) }
