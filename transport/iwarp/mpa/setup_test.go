package mpa_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   mpa.Config
		ok   bool
	}{
		{"zero", mpa.Config{}, true},
		{"largest", mpa.Config{IRD: mpa.MaxReads, ORD: mpa.MaxReads, RequiredORD: mpa.MaxReads}, true},
		{"everything", mpa.Config{IRD: 1, ORD: 1, ManualReads: true, Enhanced: mpa.EnhancedRequired, PeerToPeer: true, RTR: allRTR, CRC: true}, true},
		{"never", mpa.Config{IRD: 1, ORD: 1, Enhanced: mpa.EnhancedNever, CRC: true}, true},
		{"negative IRD", mpa.Config{IRD: -1}, false},
		{"IRD", mpa.Config{IRD: mpa.MaxReads + 1}, false},
		{"negative ORD", mpa.Config{ORD: -1}, false},
		{"ORD", mpa.Config{ORD: mpa.MaxReads + 1}, false},
		{"negative required ORD", mpa.Config{RequiredORD: -1}, false},
		{"required ORD above the ORD", mpa.Config{ORD: 4, RequiredORD: 5}, false},
		{"unknown RTR", mpa.Config{RTR: allRTR + 1}, false},
		{"unknown mode", mpa.Config{Enhanced: mpa.EnhancedNever + 1}, false},
		{"section 9.1, manual without enhanced", mpa.Config{Enhanced: mpa.EnhancedNever, ManualReads: true}, false},
		{"section 9.2, peer-to-peer without enhanced", mpa.Config{Enhanced: mpa.EnhancedNever, PeerToPeer: true}, false},
		{"section 9.1, manual and a required ORD", mpa.Config{ORD: 4, RequiredORD: 4, ManualReads: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.in.ValidateInitiator(nil)
			if tt.ok && err != nil {
				t.Errorf("got %v, want none", err)
			}
			if !tt.ok && !errors.Is(err, mpa.ErrConfig) {
				t.Errorf("got %v, want ErrConfig", err)
			}
		})
	}
}
