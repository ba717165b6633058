package serve

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/metrics"
)

// TestNFSPort: with Kerberos there is NFS over TCP at port 2049, too, unless the command line names
// another port than the default; then, and where the port is taken, there is a warning
// (rfc8166-8.2.2.1-1).
func TestNFSPort(t *testing.T) {
	host := rocerig.Addr(t).String() // of this host, and of no other process
	at := net.JoinHostPort(host, "2049")
	anyPort, byDefault := host+":0", host+defaultMount
	l, err := net.Listen("tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		t.Skip("there is an NFS server on this host")
	} else if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, tt := range []struct {
		name     string
		listen   string
		mount    string
		kerberos bool
		taken    bool
		want     string // the port
		warning  string
	}{
		{"with Kerberos", anyPort, byDefault, true, false, at, ""},
		{"without", anyPort, byDefault, false, false, "", ""},
		{"another port", anyPort, anyPort, true, false, "", "leave out --mount, or write --mount :2049"},
		{"that port", anyPort, at, true, false, "", ""},
		{"no TCP", anyPort, "", true, false, "", "leave out --mount, or write --mount :2049"},
		{"taken", anyPort, byDefault, true, true, "", "stop the program that has it, such as nfsd or rpcrdma gateway"},
		{"taken by RDMA", at, byDefault, true, false, "", "--listen uses that port for iWARP"},
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
			cfg.Listen, cfg.Mount, cfg.credits = tt.listen, tt.mount, 1
			var logged strings.Builder
			p, err := Listen(t.Context(), cfg, tt.kerberos, metrics.New(), slog.New(slog.NewTextHandler(&logged, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if tt.warning != "" && !strings.Contains(logged.String(), "Linux cannot mount over RDMA with Kerberos") {
				t.Errorf("logged: %s", logged.String())
			}
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
