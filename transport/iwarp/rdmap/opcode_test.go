package rdmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

func TestOpcode(t *testing.T) {
	type properties struct {
		Name        string
		Control     byte
		Tagged      bool
		Queue       uint32 // of untagged messages
		Invalidates bool
	}
	for op, want := range map[Opcode]properties{
		OpWrite:            {"RDMA Write", 0x40, true, 0, false},
		OpReadRequest:      {"RDMA Read Request", 0x41, false, 1, false},
		OpReadResponse:     {"RDMA Read Response", 0x42, true, 0, false},
		OpSend:             {"Send", 0x43, false, 0, false},
		OpSendInvalidate:   {"Send with Invalidate", 0x44, false, 0, true},
		OpSendSE:           {"Send with Solicited Event", 0x45, false, 0, false},
		OpSendSEInvalidate: {"Send with Solicited Event and Invalidate", 0x46, false, 0, true},
		OpTerminate:        {"Terminate", 0x47, false, 2, false},
	} {
		got := properties{op.String(), Control(ddp.Version, op), op.Tagged(), op.Queue(), op.Invalidates()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("opcode %d (-want +got):\n%s", op, diff)
		}
		if !op.Valid() {
			t.Errorf("%v: got not valid", op)
		}
	}
	for op := Opcode(8); op < 16; op++ {
		if op.Valid() {
			t.Errorf("%v: got valid", op)
		}
	}
	if got, want := Opcode(8).String(), "opcode 8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseControl(t *testing.T) {
	for _, tt := range []struct {
		in      byte
		version uint8
		op      Opcode
	}{
		{0x40, 1, OpWrite},
		{0x47, 1, OpTerminate},
		{0x4f, 1, 15},
		{0x03, 0, OpSend},
		{0xc3, 3, OpSend},
		{0x73, 1, OpSend}, // reserved bits
	} {
		if version, op := ParseControl(tt.in); version != tt.version || op != tt.op {
			t.Errorf("%#02x: got version %d, %v, want %d, %v", tt.in, version, op, tt.version, tt.op)
		}
	}
}
