//go:build interop

package linux

import (
	"strings"
	"testing"
)

// exchange counts the messages with one XID on a connection, and the calls that are a NULL.
type exchange struct{ calls, nulls, replies, errors int }

// exchange counts a message of RPC-over-RDMA. If a call or reply is in chunks of several segments,
// tshark 4.0 does not decode it, but it always decodes the header.
func (d *decoded) exchange(xid, from, to, kind, procedure, server string) {
	const rdmaError = "4"
	if kind == "" {
		return
	}
	client := from
	if to != server {
		client = to
	}
	x := d.exchanges[client+" "+xid]
	if x == nil {
		x = new(exchange)
		d.exchanges[client+" "+xid] = x
	}
	switch {
	case to == server:
		x.calls++
		if procedure == "0" {
			x.nulls++
		}
	case kind == rdmaError:
		x.errors++
	default:
		x.replies++
	}
}

// checkCapture decodes what went to the server with tshark. No connection was cut, so each call
// must have one reply or a known error. But a copy that ends while one of its connections is new
// closes that without waiting for the reply to its only call, a NULL.
func (k *knfsd) checkCapture(t *testing.T, file string) {
	t.Helper()
	d, rest := decode(t, file, rdmaPort, nfsPort, mountPort, bindPort)
	if rest > 0 {
		t.Errorf("%d bytes of incomplete FPDUs", rest)
	}
	errors, calls := 0, make(map[string]int) // calls by the client's port
	for key := range d.exchanges {
		port, _, _ := strings.Cut(key, " ")
		calls[port]++
	}
	for key, x := range d.exchanges {
		errors += x.errors
		port, _, _ := strings.Cut(key, " ")
		if *x == (exchange{calls: 1, nulls: 1}) && calls[port] == 1 {
			continue
		}
		if x.calls != 1 || x.replies+x.errors != 1 {
			t.Errorf("port and XID %s: %+v", key, *x)
		}
	}
	if errors != k.errors {
		t.Errorf("%d errors, want %d", errors, k.errors)
	}
}
