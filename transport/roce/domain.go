package roce

import "github.com/rpcrdma/go-rpcrdma/transport"

// domain is memory of the Go heap, which needs no registration.
type domain struct{}

var (
	_ transport.Domain   = domain{}
	_ transport.Importer = domain{}
)

func (domain) Alloc(n int, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: make([]byte, n)}, nil
}

func (domain) Free(transport.Slice) {}

func (domain) Import(p []byte, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: p}, nil
}

func (domain) Release(transport.Slice) {}
