package serve

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/metrics"
)

// TestNFSPort: with Kerberos there is NFS over TCP at port 2049, too, unless the command line says where
// it is to be; then, and where the port is taken, there is a warning (rfc8166-8.2.2.1-1).
func TestNFSPort(t *testing.T) {
	const host = "127.20.0.50" // of this host, and of no other test
	at := net.JoinHostPort(host, "2049")
	l, err := net.Listen("tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		t.Skip("there is an NFS server on this host")
	} else if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, tt := range []struct {
		name     string
		mount    string
		said     bool // by the command line
		kerberos bool
		taken    bool
		want     string // the port
		warning  string
	}{
		{"with Kerberos", host + ":0", false, true, false, at, ""},
		{"without", host + ":0", false, false, false, "", ""},
		{"another port", host + ":0", true, true, false, "", "--mount names another port: --mount :2049 is both"},
		{"that port", at, true, true, false, "", ""},
		{"no TCP", "", true, true, false, "", "--mount names another port"},
		{"taken", host + ":0", false, true, true, "", "another server?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.taken {
				l, err := net.Listen("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			cfg := NewConfig(nil)
			cfg.Listen, cfg.Mount, cfg.mountSaid, cfg.credits = host+":0", tt.mount, tt.said, 1
			var logged strings.Builder
			p, err := Listen(t.Context(), cfg, tt.kerberos, metrics.New(), slog.New(slog.NewTextHandler(&logged, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			got := ""
			if p.nfs != nil {
				got = p.nfs.Addr().String()
			}
			if got != tt.want {
				t.Errorf("NFS is at %q, want %q", got, tt.want)
			}
			if s := logged.String(); (s == "") != (tt.warning == "") || !strings.Contains(s, tt.warning) {
				t.Errorf("logged: %s, want %q", s, tt.warning)
			}
		})
	}
}
