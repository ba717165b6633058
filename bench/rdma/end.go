package rdma

import (
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// end is what both ends of a connection share: memory, receives and Sends.
type end struct {
	ep      transport.Endpoint
	bulk    transport.Slice // target and source of Writes and Reads
	message transport.Slice // what each Send sends
	inbox   transport.Slice // memory of the receives
	sends   *sends
	rs      []*transport.RecvRequest // reused for posting
	failed  chan error               // the first failure
}

// newEnd allocates the memory and posts the receives.
func newEnd(ep transport.Endpoint) (*end, error) {
	e := &end{ep: ep, failed: make(chan error, 1)}
	for _, m := range []struct {
		at     *transport.Slice
		n      int
		access transport.Access
	}{
		{&e.bulk, bulkBytes, bulkAccess | transport.LocalWrite},
		{&e.message, messageBytes, 0},
		{&e.inbox, window * messageBytes, transport.LocalWrite},
	} {
		var err error
		if *m.at, err = ep.Domain().Alloc(m.n, m.access); err != nil {
			return nil, errors.Join(err, e.close())
		}
		// Memory that has never been written to is all the same page of zeros.
		for i := range m.at.Bytes {
			m.at.Bytes[i] = byte(i)
		}
	}
	e.sends = newSends(ep, e.message, e.fail)
	for i := range window {
		e.rs = append(e.rs, &transport.RecvRequest{
			Local: []transport.Slice{e.inbox.Sub(i*messageBytes, messageBytes)},
		})
	}
	if err := ep.PostRecv(e.rs...); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// again posts the receives of a batch again.
func (e *end) again(batch []transport.Message) {
	e.rs = e.rs[:0]
	for _, m := range batch {
		e.rs = append(e.rs, m.Receive)
	}
	if err := e.ep.PostRecv(e.rs...); err != nil {
		e.fail(err)
	}
}

// fail keeps the first failure.
func (e *end) fail(err error) {
	select {
	case e.failed <- err:
	default:
	}
}

// close closes the connection and frees the memory. It returns the error that ended the connection
// before, if any.
func (e *end) close() error {
	e.ep.Close()
	<-e.ep.Done()
	for _, m := range []transport.Slice{e.bulk, e.message, e.inbox} {
		if m.Bytes != nil {
			e.ep.Domain().Free(m)
		}
	}
	if err := e.ep.Err(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case err := <-e.failed:
		if !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrFlushed) {
			return err
		}
	default:
	}
	return nil
}
