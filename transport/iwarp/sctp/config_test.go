package sctp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// TestConfig has values on both sides of each bound. An error names the field.
func TestConfig(t *testing.T) {
	const least, most = 64 << 10, 1 << 30
	for _, tt := range []struct {
		name  string
		cfg   sctp.Config
		wrong string // field
	}{
		{"nothing", sctp.Config{}, ""},
		{"Indication", sctp.Config{Indication: sctp.DDP}, ""},
		{"Indication with Draft", sctp.Config{Indication: sctp.DDP, Draft: true}, ""},
		{"Indication of the draft", sctp.Config{Indication: sctp.DDPRDMA, Draft: true}, ""},
		{"Indication of the draft alone", sctp.Config{Indication: sctp.DDPRDMA}, "Indication"},
		{"Indication unknown", sctp.Config{Indication: 3, Draft: true}, "Indication"},
		{"UDPPort", sctp.Config{UDPPort: 1}, ""},
		{"UDPPort at most", sctp.Config{UDPPort: 1<<16 - 1}, ""},
		{"UDPPort above", sctp.Config{UDPPort: 1 << 16}, "UDPPort"},
		{"UDPPort of a Dialer below", sctp.Config{UDPPort: -1}, "UDPPort"},
		{"Streams at least", sctp.Config{Streams: 1}, ""},
		{"Streams at most", sctp.Config{Streams: 1<<16 - 1}, ""},
		{"Streams below", sctp.Config{Streams: -1}, "Streams"},
		{"Streams above", sctp.Config{Streams: 1 << 16}, "Streams"},
		{"MTU at least", sctp.Config{MTU: 548}, ""},
		{"MTU at most", sctp.Config{MTU: 8000}, ""},
		{"MTU below", sctp.Config{MTU: 547}, "MTU"},
		{"MTU above", sctp.Config{MTU: 8001}, "MTU"},
		{"Window at least", sctp.Config{Window: least, StreamMemory: least}, ""},
		{"Window at most", sctp.Config{Window: most}, ""},
		{"Window below", sctp.Config{Window: least - 1, StreamMemory: least}, "Window"},
		{"Window above", sctp.Config{Window: most + 1}, "Window"},
		{"StreamMemory at least", sctp.Config{StreamMemory: least}, ""},
		{"StreamMemory at most", sctp.Config{StreamMemory: sctp.DefaultWindow}, ""},
		{"StreamMemory below", sctp.Config{StreamMemory: least - 1}, "StreamMemory"},
		{"StreamMemory above", sctp.Config{StreamMemory: sctp.DefaultWindow + 1}, "StreamMemory"},
		{"Memory at least", sctp.Config{Memory: sctp.DefaultWindow}, ""},
		{"Memory below", sctp.Config{Memory: sctp.DefaultWindow - 1}, "Memory"},
		{"MaxAssociations at least", sctp.Config{MaxAssociations: 1}, ""},
		{"MaxAssociations below", sctp.Config{MaxAssociations: -1}, "MaxAssociations"},
		{"SetupTimeout at least", sctp.Config{SetupTimeout: 1}, ""},
		{"SetupTimeout below", sctp.Config{SetupTimeout: -1}, "SetupTimeout"},
		{"KeepAlive at least", sctp.Config{KeepAlive: 1}, ""},
		{"KeepAlive below", sctp.Config{KeepAlive: -1}, "KeepAlive"},
	} {
		_, err := sctp.NewDialer(tt.cfg)
		if tt.wrong == "" && err == nil {
			continue
		}
		if !errors.Is(err, sctp.ErrConfig) || !strings.Contains(err.Error(), ": "+tt.wrong+" is ") {
			t.Errorf("%s: got error %v, want one about %q", tt.name, err, tt.wrong)
		}
	}
}
