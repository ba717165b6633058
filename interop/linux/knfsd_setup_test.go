//go:build interop

package linux

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// setups connects in several ways. The server wants to read from its clients, so it refuses clients
// that allow no RDMA Reads, and those that do not say, as in MPA revision 1.
func (k *knfsd) setups(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		refused bool
	}{
		{"one read at a time", iwarp.Config{IRD: 1, ORD: 1}, false},
		{"peer to peer", iwarp.Config{PeerToPeer: true}, false},
		{"CRC", iwarp.Config{CRC: iwarp.CRCOn}, false},
		{"short segments", iwarp.Config{MaxSegment: 256}, false},
		{"no reads", iwarp.Config{IRD: -1}, true},
		{"revision 1", iwarp.Config{Enhanced: mpa.EnhancedNever}, true},
		{"markers", iwarp.Config{Markers: mpa.MarkersOn}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{Config: tt.cfg}, local(k.RDMA), rpcrdma.Config{})
			var reject *transport.RejectError
			if refused := errors.As(err, &reject); refused != tt.refused || err != nil && !refused {
				t.Fatalf("connected: %v, want refused: %v", err, tt.refused)
			}
			if err != nil {
				return
			}
			defer func() {
				conn.Close()
				<-conn.Done()
			}()
			c := nfsclient.New(conn, user(t, 0))
			file := create(t, c, k.root(t, open), "setup")
			want := random(t, 100_003)
			if w, err := c.Write(t.Context(), file, 0, want, nfs3.FileSync); err != nil || w.N != len(want) {
				t.Fatalf("WRITE: %+v, %v", w, err)
			}
			k.checkSum(t, open+"/setup", want)
		})
	}
}

// mountd asks for handles, at the right address and at wrong ones.
func (k *knfsd) mountd(t *testing.T) {
	_, c, _ := k.client(t, rpcrdma.Config{}, open)
	var refused *oncrpc.AcceptError
	if _, err := c.Mount(t.Context(), open); !errors.As(err, &refused) || refused.Stat != oncrpc.ProgUnavail {
		t.Errorf("MOUNT over RDMA: %v, want %v", err, oncrpc.ProgUnavail)
	}
	conn, err := recordmark.Dial(t.Context(), local(k.Mount),
		recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	for _, tt := range []struct {
		path string
		want error
	}{
		{squashed, nil},
		{private, mount3.ErrAcces},
		{"/none", mount3.ErrAcces},
		{open + "/none", mount3.ErrNoEnt},
	} {
		if _, err := nfsclient.Mount(t.Context(), conn, user(t, 0), tt.path); !errors.Is(err, tt.want) {
			t.Errorf("MNT %s: %v, want %v", tt.path, err, tt.want)
		}
	}
	exports, err := nfsclient.Exports(t.Context(), conn, user(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range exports {
		got[e.Path] = strings.Join(e.Groups, " ")
	}
	for path, groups := range map[string]string{open: "*", squashed: "*", readonly: "*", private: "198.51.100.1"} {
		if got[path] != groups {
			t.Errorf("%s is exported to %q, want %q", path, got[path], groups)
		}
	}
}
