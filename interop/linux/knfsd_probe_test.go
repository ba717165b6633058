//go:build interop

package linux

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestKnfsdProbe probes the kernel's server several times. The command reports the causes, and the
// server stays healthy. The traffic is not decoded, because it includes calls over TCP to the RDMA
// port and vice versa.
func TestKnfsdProbe(t *testing.T) {
	t.Parallel()
	k := bootKnfsd(t, machine{})
	file := squashed + "/file" // which root may read, and nobody not
	k.sh[0].run(t, "echo there >"+file+" && chown 1000 "+file+" && chmod 600 "+file)
	other := map[string]string{"rdma": "tcp", "tcp": "rdma"}
	for _, scheme := range schemes {
		swapped := strings.Replace(k.url(scheme, open), scheme+"://", other[scheme]+"://", 1)
		for _, tt := range []struct {
			name, url string
			ok        bool
			cause     string
		}{
			{"open", k.url(scheme, open), true, "export-not-for-host"}, // the private one
			{"squashed", k.url(scheme, squashed), true, "root-squashed"},
			{"read-only", k.url(scheme, readonly), true, "export-not-for-host"},
			{"private", k.url(scheme, private), false, "export-not-for-host"},
			{"swapped", swapped, false, "ports-swapped"},
			{"open again", k.url(scheme, open), true, "export-not-for-host"},
		} {
			t.Run(scheme+", "+tt.name, func(t *testing.T) {
				got := startCommand(t, nil, "probe", "--json", "--uid", "0", tt.url).wait(t)
				var report struct {
					OK       bool
					Findings []struct{ Cause string }
				}
				if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
					t.Fatalf("%v: exit %d\n%s", err, got.code, got.stderr)
				}
				named := slices.Contains(report.Findings, struct{ Cause string }{tt.cause})
				if report.OK != tt.ok || !named || (got.code == 0) != tt.ok {
					t.Errorf("ok is %v, want %v, with cause %s; exit %d\n%s", report.OK, tt.ok,
						tt.cause, got.code, got.stdout)
				}
			})
		}
	}
	k.end(t, `svc: svc_tcp_read_marker nfsd RPC fragment too large: \d+`)
}
