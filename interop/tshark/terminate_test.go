//go:build interop

package tshark

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// tshark reads the Terminate messages that end a connection.
func TestTerminate(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		err   error
		want  string
	}{
		{"Write to a bad STag", fault{transport.OpWrite, 100}, transport.ErrSTag, "DDP (0x1), Tagged Buffer Error (0x1), Invalid STag (0x00)"},
		{"Read from a bad STag", fault{transport.OpRead, 100}, transport.ErrSTag, "RDMA (0x0), Remote Protection Error (0x1), Invalid STag (0x00)"},
		{"Send without a receive", fault{transport.OpSend, 0}, transport.ErrNoReceive, "DDP (0x1), Untagged Buffer Error (0x2), Invalid MSN - no buffer available (0x02)"},
	}
	settings := []struct {
		name           string
		server, client iwarp.Config
		want           framing
	}{
		{"", iwarp.Config{}, iwarp.Config{}, framing{Version: 1}},
		{" with CRC", iwarp.Config{}, iwarp.Config{CRC: iwarp.CRCOn}, framing{Version: 1, CRC: true}},
		{" with markers", iwarp.Config{Markers: mpa.MarkersOn}, iwarp.Config{Markers: mpa.MarkersOn}, framing{Version: 1, Markers: true}},
		{" with markers and CRC", iwarp.Config{Markers: mpa.MarkersOn}, iwarp.Config{CRC: iwarp.CRCOn, Markers: mpa.MarkersOn},
			framing{Version: 1, Markers: true, CRC: true}},
		{" with revision 0", iwarp.Config{RNIC: mpa.Permissive}, iwarp.Config{RNIC: mpa.RDMAC}, framing{Markers: true, CRC: true}},
	}
	for _, s := range settings {
		for _, tt := range tests {
			t.Run(tt.name+s.name, func(t *testing.T) {
				t.Parallel()
				marked := [2]bool{s.want.Markers, s.want.Markers}
				flows, posts, _ := observe(t, s.server, s.client, marked, func(ctx context.Context, l, d *counted) {
					faultSession(ctx, t, l, d, tt.fault, tt.err)
				})
				client, server := &flows[0], &flows[1]
				for from, f := range map[string]*flow{"client": client, "server": server} {
					f.check(t, from, s.want)
					if len(f.Problems) > 0 {
						t.Errorf("from the %s: %q", from, f.Problems)
					}
				}
				if diff := cmp.Diff(posted(posts, tally{}, nil), client.Ops); diff != "" {
					t.Errorf("from the client (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[opcode]messages{opTerminate: {Count: 1}}, server.Ops); diff != "" {
					t.Errorf("from the server (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{tt.want}, server.Terminates); diff != "" {
					t.Errorf("the Terminate (-want +got):\n%s", diff)
				}
			})
		}
	}
}
