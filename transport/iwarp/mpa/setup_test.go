package mpa

import (
	"errors"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Config
		ok   bool
	}{
		{"zero", Config{}, true},
		{"largest", Config{IRD: MaxReads, ORD: MaxReads, RequiredORD: MaxReads}, true},
		{"everything", Config{IRD: 1, ORD: 1, ManualReads: true, Enhanced: EnhancedRequired, PeerToPeer: true, RTR: rtrAll, CRC: true}, true},
		{"never", Config{IRD: 1, ORD: 1, Enhanced: EnhancedNever, CRC: true}, true},
		{"negative IRD", Config{IRD: -1}, false},
		{"IRD", Config{IRD: MaxReads + 1}, false},
		{"negative ORD", Config{ORD: -1}, false},
		{"ORD", Config{ORD: MaxReads + 1}, false},
		{"negative required ORD", Config{RequiredORD: -1}, false},
		{"required ORD above the ORD", Config{ORD: 4, RequiredORD: 5}, false},
		{"unknown RTR", Config{RTR: rtrAll + 1}, false},
		{"unknown mode", Config{Enhanced: EnhancedNever + 1}, false},
		{"section 9.1, manual without enhanced", Config{Enhanced: EnhancedNever, ManualReads: true}, false},
		{"section 9.2, peer-to-peer without enhanced", Config{Enhanced: EnhancedNever, PeerToPeer: true}, false},
		{"section 9.1, manual and a required ORD", Config{ORD: 4, RequiredORD: 4, ManualReads: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.in.ValidateInitiator(nil)
			if tt.ok && err != nil {
				t.Errorf("got %v, want none", err)
			}
			if !tt.ok && !errors.Is(err, ErrConfig) {
				t.Errorf("got %v, want ErrConfig", err)
			}
		})
	}
}
