package iwarp

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// siwMULPDU is the longest segment of siw where the MTU is 1500.
const siwMULPDU = 1450

// TestGoldenStartup parses the captured startup frames and encodes them again.
func TestGoldenStartup(t *testing.T) {
	eachStream(t, func(t *testing.T, _ string, stream []byte, _ bool) {
		s := parseCapturedStream(t, stream)
		f := s.frame
		f.PrivateData = append(s.enhanced.Append(nil), s.private...)
		got, err := f.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.startup, got); diff != "" {
			t.Errorf("startup frame (-captured +ours):\n%s", diff)
		}
	})
}

// TestGoldenFPDUs has a Conn read the captured FPDUs, puts the messages together, and has them cut, framed and sent anew. What comes out is the
// capture, but for the pad, which we keep zero.
func TestGoldenFPDUs(t *testing.T) {
	eachStream(t, func(t *testing.T, _ string, stream []byte, crc bool) {
		s := parseCapturedStream(t, stream)
		if got := s.mulpdu(t); got != siwMULPDU {
			t.Errorf("got segments of %d bytes, want %d", got, siwMULPDU)
		}
		got := reencode(t, stream[len(s.startup):], crc)
		for i, f := range s.fpdus {
			want := f.canonical(crc)
			if len(got) < len(want) || !bytes.Equal(got[:len(want)], want) {
				t.Fatalf("FPDU %d, %v: got % x..., want % x...", i, f.op, got[:min(len(got), 64)], want[:min(len(want), 64)])
			}
			got = got[len(want):]
		}
		if len(got) > 0 {
			t.Errorf("got %d bytes too many", len(got))
		}
	})
}

// TestGoldenPad finds the captured FPDUs that are not encoded here as there, because siw left something else than zero in the pad.
func TestGoldenPad(t *testing.T) {
	type odd struct {
		fpdu int
		pad  string
	}
	want := map[string][]odd{
		"nfs3-siw, responder":     {{462, "ome"}},
		"nfs3-siw-crc, responder": {{461, ")"}, {462, "ome"}},
		"nfs3-siw-p2p, responder": {{462, "ome"}},
	}
	got := map[string][]odd{}
	eachStream(t, func(t *testing.T, name string, stream []byte, crc bool) {
		for i, f := range parseCapturedStream(t, stream).fpdus {
			if !bytes.Equal(f.Raw, f.canonical(crc)) {
				got[name] = append(got[name], odd{i, string(f.Raw[2+len(f.ULPDU) : len(f.Raw)-4])})
			}
		}
	})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(odd{})); diff != "" {
		t.Errorf("FPDUs (-want +got):\n%s", diff)
	}
}

func eachStream(t *testing.T, test func(t *testing.T, name string, stream []byte, crc bool)) {
	for _, capt := range capture.Names() {
		c := capture.Load(t, capt)
		for side, stream := range map[string][]byte{"initiator": c.Initiator, "responder": c.Responder} {
			name := capt + ", " + side
			t.Run(name, func(t *testing.T) { test(t, name, stream, capt == capture.CRC) })
		}
	}
}
