package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// siwMULPDU is the maximum segment of siw with an MTU of 1500.
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

// TestGoldenFPDUs assembles the captured messages, and lets an endpoint cut, frame and send them
// again. The result is the capture, except for the padding, which is zero here, and the sinks of
// RDMA Reads.
func TestGoldenFPDUs(t *testing.T) {
	eachStream(t, func(t *testing.T, _ string, stream []byte, crc bool) {
		s := parseCapturedStream(t, stream)
		if got := s.mulpdu(t); got != siwMULPDU {
			t.Errorf("got segments of %d bytes, want %d", got, siwMULPDU)
		}
		e := newReencoder(t, crc)
		fpdus := s.fpdus
		for i := range s.messages {
			n := 0
			for n < len(fpdus) && fpdus[n].end <= s.messages[i].end {
				n++
			}
			e.want(&s.messages[i], fpdus[:n])
			fpdus = fpdus[n:]
		}
		e.l.Close()
		e.p.wantFIN() // nothing follows the last message
	})
}

// TestGoldenPad finds the captured FPDUs that are encoded differently here, because siw's padding
// is not zero.
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
