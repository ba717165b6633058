package mpa_test

import (
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// siwFrames is what Linux's siw says to itself; the file says how it was made.
//
//go:embed testdata/siw-startup.frames
var siwFrames string

// siwStartup is one of siw's handshakes, and the Configs with which our two sides send the same.
type siwStartup struct {
	name                 string
	request, reply       []byte
	initiator, responder mpa.Config
}

func siwStartups(t testing.TB) []siwStartup {
	t.Helper()
	all := []siwStartup{
		{name: "plain", initiator: mpa.Config{IRD: 128}, responder: mpa.Config{ORD: 128}},
		{name: "crc", initiator: mpa.Config{IRD: 128, CRC: true}, responder: mpa.Config{ORD: 128}},
		{
			name:      "p2p",
			initiator: mpa.Config{IRD: 128, ORD: 1, PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead},
			responder: mpa.Config{IRD: 1, ORD: 128, RTR: mpa.RTRWrite},
		},
	}
	for line := range strings.Lines(siwFrames) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("%d fields: %s", len(f), line)
		}
		b, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			switch s := &all[i]; {
			case s.name != f[0]:
			case f[1] == "initiator":
				s.request = b
			default:
				s.reply = b
			}
		}
	}
	for _, s := range all {
		if s.request == nil || s.reply == nil {
			t.Fatalf("%s: a frame is missing", s.name)
		}
	}
	return all
}

// Private data of the NFS/RDMA client and server (RFC 8797).
var (
	siwClientPrivate = []byte{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}
	siwServerPrivate = []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3}
)

// Every byte of siw's frames is understood, and encoded in the same way.
func TestSiwFrames(t *testing.T) {
	flags := map[string]struct{ crc, p2p bool }{"plain": {}, "crc": {crc: true}, "p2p": {p2p: true}}
	for _, c := range siwStartups(t) {
		t.Run(c.name, func(t *testing.T) {
			request := mpa.Frame{CRC: flags[c.name].crc, Enhanced: true, Revision: 2}
			d := mpa.EnhancedData{IRD: 128}
			if flags[c.name].p2p {
				d = mpa.EnhancedData{PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead, IRD: 128, ORD: 1}
			}
			checkSiwFrame(t, c.request, request, d, siwClientPrivate)

			reply := mpa.Frame{Reply: true, CRC: flags[c.name].crc, Enhanced: true, Revision: 2}
			d = mpa.EnhancedData{ORD: 128}
			if flags[c.name].p2p {
				d = mpa.EnhancedData{PeerToPeer: true, RTR: mpa.RTRWrite, IRD: 1, ORD: 128}
			}
			checkSiwFrame(t, c.reply, reply, d, siwServerPrivate)
		})
	}
}

func checkSiwFrame(t *testing.T, b []byte, want mpa.Frame, wantData mpa.EnhancedData, wantPrivate []byte) {
	t.Helper()
	got, n, err := mpa.ParseFrame(b)
	if err != nil || n != len(b) {
		t.Fatalf("ParseFrame: %d bytes, %v, want %d", n, err, len(b))
	}
	d, private, err := mpa.ParseEnhancedData(got.PrivateData)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantData, d); diff != "" {
		t.Errorf("enhanced data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantPrivate, private); diff != "" {
		t.Errorf("private data (-want +got):\n%s", diff)
	}
	got.PrivateData = append(d.Append(nil), private...)
	again, err := got.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, again); diff != "" {
		t.Errorf("appended again (-want +got):\n%s", diff)
	}
	got.PrivateData = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frame (-want +got):\n%s", diff)
	}
}

// With siw's settings, our initiator and our responder send the same frames, and agree on the same
// setup.
func TestSiwStartups(t *testing.T) {
	want := map[string]struct{ initiator, responder mpa.Setup }{
		"plain": {
			mpa.Setup{Setup: ddp.Setup{IRD: 128}, PeerORD: 128},
			mpa.Setup{Setup: ddp.Setup{ORD: 128}, PeerIRD: 128},
		},
		"crc": {
			mpa.Setup{Setup: ddp.Setup{IRD: 128}, CRC: true, PeerORD: 128},
			mpa.Setup{Setup: ddp.Setup{ORD: 128}, CRC: true, PeerIRD: 128},
		},
		"p2p": {
			mpa.Setup{Setup: ddp.Setup{IRD: 128, ORD: 1, RTR: mpa.RTRWrite}, PeerIRD: 1, PeerORD: 128, PeerToPeer: true},
			mpa.Setup{Setup: ddp.Setup{IRD: 1, ORD: 128, RTR: mpa.RTRWrite}, PeerIRD: 128, PeerORD: 1, PeerToPeer: true},
		},
	}
	for _, c := range siwStartups(t) {
		t.Run(c.name, func(t *testing.T) {
			w := want[c.name]
			w.initiator.Initiator, w.initiator.Version, w.responder.Version = true, 1, 1
			w.initiator.Revision, w.initiator.Enhanced, w.initiator.PrivateData = 2, true, siwServerPrivate
			w.responder.Revision, w.responder.Enhanced, w.responder.PrivateData = 2, true, siwClientPrivate

			said, s, err := initiateTo(t, c.initiator, siwClientPrivate, c.reply)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.request, said); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&w.initiator, s); diff != "" {
				t.Errorf("initiator's setup (-want +got):\n%s", diff)
			}

			said, s, err = acceptFrom(t, c.request, c.responder, siwServerPrivate)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.reply, said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&w.responder, s); diff != "" {
				t.Errorf("responder's setup (-want +got):\n%s", diff)
			}
		})
	}
}
