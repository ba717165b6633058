package oncrpc

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// onceData sums a Once call, and watches bulk data that arrives after the call. Until the data is
// here, the server cannot tell whether the call is a copy of another: the copies may differ in
// their data, and making one wait for the other could mean waiting for a lost connection. So the
// handlers of all copies start. When the first data has arrived, and before the handler gets it,
// onceData asks the cache whether this call may go on. All other copies are stopped there, so they
// change nothing, however late their data arrives.
type onceData struct {
	call    *Call
	hash    xxh3.Hasher
	begun   bool        // hash has identity, inline arguments, and what a fetch has got
	args    xdr.Decoder // all arguments, for running the handler again
	refused bool        // the call is a copy, and its handler must end
}

// errCopy stops the handler of a copy.
var errCopy = fmt.Errorf("copy of a call that is executed already: %w", ErrDrop)

// begin begins the sum.
func (o *onceData) begin() {
	c := o.call
	o.hash = *c.server.replies.hash
	o.hash.WriteString(c.origin.principal)
	o.hash.Write(c.key)
	o.hash.Write(c.inline)
	o.begun = true
}

// Arrived implements xdr.BulkWatcher.
func (o *onceData) Arrived(p []byte) {
	if !o.begun {
		o.begin()
	}
	o.hash.Write(p)
}

// Fetched implements xdr.BulkWatcher. It returns errCopy if the handler may not have its data.
func (o *onceData) Fetched(n int, err error) error {
	o.begun = false
	if err != nil {
		return err
	}
	var padding [3]byte
	o.hash.Write(padding[:xdr.RoundUp(n)-n])
	if c := o.call; !c.server.replies.fetched(&c.arrival, o.hash.Sum64()) {
		o.refused = true
		return errCopy
	}
	return nil
}
