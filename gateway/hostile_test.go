package gateway

import (
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestHostile: input that is not RPC ends the client's connection, or is ignored. Other clients are
// not affected.
func TestHostile(t *testing.T) {
	srv := nfsServer(t)
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})},
		recordmark.Config{MaxRecord: 1 << 20})
	null := message(nfsCall(5, nfs3.ProcNull, oncrpc.Auth{}), nil)
	lives := func(t *testing.T, s rawClient) {
		t.Helper()
		s.send(null)
		if got := s.next(); len(got) != 24 {
			t.Errorf("got reply %x", got)
		}
	}
	for _, tt := range []struct {
		name string
		send func(rawClient)
		ends bool
	}{
		{"nothing", func(rawClient) {}, false},
		{"an empty record", func(s rawClient) { s.send(nil) }, false},
		{"a word", func(s rawClient) { s.send([]byte("word")) }, false},
		{"a reply", func(s rawClient) { s.send(append([]byte{0, 0, 0, 9, 0, 0, 0, 1}, make([]byte, 100)...)) }, false},
		{"neither call nor reply", func(s rawClient) { s.send([]byte{0, 0, 0, 9, 0, 0, 0, 2}) }, false},
		{"a record of 2 GiB", func(s rawClient) { s.Write([]byte{0xff, 0xff, 0xff, 0xff}) }, true},
		{"empty fragments without end", func(s rawClient) { s.Write(make([]byte, 8<<10)) }, true},
		{"MPA", func(s rawClient) { s.Write([]byte("MPA ID Req Frame")) }, true},
		{"the end, within a record", func(s rawClient) {
			s.Write([]byte{0x80, 0, 1, 0, 1, 2, 3})
			s.Conn.(*net.TCPConn).CloseWrite()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := dialRawClient(t, g.addr)
			tt.send(s)
			if tt.ends {
				if got := s.next(); got != nil {
					t.Errorf("got reply %x", got)
				}
				s = dialRawClient(t, g.addr)
			}
			lives(t, s)
		})
	}
}
