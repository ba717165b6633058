package mpa_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// scriptedPeer is a connection whose peer has already sent everything.
type scriptedPeer struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *scriptedPeer) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *scriptedPeer) Write(p []byte) (int, error) { return s.out.Write(p) }

// fuzzConfig makes a Config of arbitrary bits, not always a valid one.
func fuzzConfig(flags uint32, ird, ord, required, limit int16) mpa.Config {
	bit := func(n int) bool { return flags>>n&1 != 0 }
	return mpa.Config{
		IRD: int(ird), ORD: int(ord), RequiredORD: int(required), PrivateLimit: int(limit),
		RTR: mpa.RTR(flags & 0xf), Enhanced: mpa.Enhanced(flags >> 4 & 3),
		ManualReads: bit(6), PeerToPeer: bit(7), CRC: bit(8), OneRTR: bit(9), Draft05: bit(10),
		RNIC: mpa.RNIC(flags >> 12 & 3), Version: mpa.Version(flags >> 14 & 3), Markers: mpa.Markers(flags >> 16 & 3),
	}
}

// newRevision is the revision of MPA that an initiator other than an RDMAC RNIC asks for.
func newRevision(c mpa.Config) int {
	if c.Enhanced == mpa.EnhancedNever {
		return 1
	}
	return 2
}

// Some of the bits.
const (
	fuzzOneRTR     = 1 << 9
	fuzzDraft05    = 1 << 10
	fuzzPermissive = uint32(mpa.Permissive) << 12
	fuzzRDMAC      = uint32(mpa.RDMAC) << 12
	fuzzMarkers    = uint32(mpa.MarkersOn) << 16
)

// checkFuzzError checks that err is one of the documented errors, and that it asks for no Terminate
// to a peer that expects none.
func checkFuzzError(t *testing.T, err error, initiator bool) {
	t.Helper()
	var started *mpa.StartupError
	var rejected *mpa.RejectError
	switch {
	case errors.Is(err, mpa.ErrConfig), errors.Is(err, transport.ErrPrivateData):
	case initiator && errors.As(err, &rejected):
	case !errors.As(err, &started):
		t.Fatalf("got %v", err)
	case started.Code < mpa.CodeLost || started.Code > mpa.CodeRTR || started.Terminate && !initiator:
		t.Fatalf("got %#v", started)
	}
}

func FuzzInitiate(f *testing.F) {
	for _, c := range siwStartups(f) {
		f.Add(c.reply, uint32(0), int16(128), int16(0), int16(0), int16(0))
		f.Add(c.reply, uint32(0x80), int16(128), int16(1), int16(0), int16(0))
		f.Add(c.reply, uint32(0x20), int16(128), int16(1), int16(0), int16(0))
	}
	f.Add(repFrame(f, "10 02 0004 3fff3fff"), uint32(0x40), int16(16), int16(16), int16(0), int16(0))
	f.Add(repFrame(f, "30 02 0006 00100004 6e6f"), uint32(0), int16(16), int16(16), int16(0), int16(0))
	f.Add(repFrame(f, "00 01 0000"), uint32(0x120), int16(16), int16(16), int16(0), int16(0))
	f.Add(repFrame(f, "c0 00 0000"), fuzzPermissive, int16(16), int16(16), int16(0), int16(0))
	f.Add(repFrame(f, "c0 00 0003 616263"), fuzzRDMAC, int16(16), int16(16), int16(0), int16(256))
	f.Add(repFrame(f, "60 01 0000"), fuzzRDMAC, int16(16), int16(16), int16(0), int16(0))
	f.Add(repFrame(f, "90 02 0004 80100010"), fuzzPermissive|fuzzMarkers|0x80, int16(16), int16(16), int16(0), int16(11))
	f.Fuzz(func(t *testing.T, reply []byte, flags uint32, ird, ord, required, limit int16) {
		cfg := fuzzConfig(flags, ird, ord, required, limit)
		conn := &scriptedPeer{in: bytes.NewReader(reply)}
		s, err := mpa.Initiate(conn, cfg, []byte("private"))
		if err != nil {
			checkFuzzError(t, err, true)
			return
		}
		old := s.Revision == 0
		if old && isNew(cfg) || !old && (isOld(cfg) || s.Revision != newRevision(cfg)) || old != (s.Version == 0) || s.Enhanced != (s.Revision == 2) || s.IRD != cfg.IRD || s.ORD > cfg.ORD {
			t.Fatalf("%+v from %+v", s, cfg)
		}
		if s.Enhanced && !cfg.ManualReads && (s.ORD > s.PeerIRD || s.PeerORD > s.IRD && s.PeerORD != mpa.ReadsManual) {
			t.Fatalf("reads of %+v", s)
		}
		if s.PeerToPeer != cfg.PeerToPeer || s.PeerToPeer != (s.RTR != 0) || s.RTR&^sends(cfg) != 0 {
			t.Fatalf("model of %+v", s)
		}
		if s.MarkersIn != (old || cfg.Markers == mpa.MarkersOn) || old && !(s.MarkersOut && s.CRC) || cfg.CRC && !s.CRC {
			t.Fatalf("markers and CRC of %+v", s)
		}
		if len(s.PrivateData) > mpa.MaxPrivateData {
			t.Fatalf("%d bytes of private data", len(s.PrivateData))
		}
	})
}

func FuzzRespond(f *testing.F) {
	for _, c := range siwStartups(f) {
		f.Add(c.request, false, uint32(0), int16(16), int16(16), int16(0), int16(0))
		f.Add(c.request, true, uint32(0x102), int16(0), int16(128), int16(8), int16(0))
	}
	f.Add(reqFrame(f, "d0 00 0004 3fff3fff"), false, uint32(0x40), int16(16), int16(16), int16(0), int16(0))
	f.Add(reqFrame(f, "80 01 0000"), false, uint32(0x20), int16(16), int16(16), int16(0), int16(0))
	f.Add(reqFrame(f, "c0 00 0000"), false, fuzzPermissive, int16(16), int16(16), int16(0), int16(0))
	f.Add(reqFrame(f, "40 00 0000"), false, fuzzPermissive, int16(16), int16(16), int16(0), int16(7))
	f.Add(reqFrame(f, "10 02 0004 c010c010"), true, fuzzRDMAC, int16(16), int16(16), int16(0), int16(256))
	f.Add(reqFrame(f, "90 02 0004 c010c010"), false, fuzzMarkers|fuzzOneRTR, int16(16), int16(16), int16(0), int16(11))
	f.Add(reqFrame(f, "10 02 0004 80100000"), false, fuzzDraft05|uint32(mpa.RTRSend), int16(16), int16(16), int16(0), int16(0))
	f.Fuzz(func(t *testing.T, request []byte, reject bool, flags uint32, ird, ord, required, limit int16) {
		cfg := fuzzConfig(flags, ird, ord, required, limit)
		conn := &scriptedPeer{in: bytes.NewReader(request)}
		r, err := mpa.ReadRequest(conn)
		if err != nil {
			checkFuzzError(t, err, false)
			if conn.out.Len() > 0 {
				t.Fatalf("%v, and yet a reply: %x", err, conn.out.Bytes())
			}
			return
		}
		var s *mpa.Setup
		if reject {
			err = r.Reject(cfg, []byte("private"))
		} else {
			s, err = r.Accept(cfg, []byte("private"))
		}
		if err != nil {
			checkFuzzError(t, err, false)
		}
		if errors.Is(err, mpa.ErrConfig) || errors.Is(err, mpa.ErrEnhanced) || errors.Is(err, transport.ErrPrivateData) {
			if conn.out.Len() > 0 {
				t.Fatalf("%v, and yet a reply: %x", err, conn.out.Bytes())
			}
			return
		}
		checkFuzzReply(t, cfg, r, s, &conn.out)
	})
}

// checkFuzzReply checks that the reply is one frame, and that it fits the request and the setup, if
// any.
func checkFuzzReply(t *testing.T, cfg mpa.Config, r *mpa.Request, s *mpa.Setup, out io.Reader) {
	f := mpa.Frame{Reply: true}
	if _, err := mpa.ReadFrame(out, &f); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 1)); n > 0 {
		t.Fatal("bytes behind the reply")
	}
	revision := r.Revision()
	switch {
	case isOld(cfg):
		revision = 0
	case isNew(cfg):
		revision = max(revision, 1)
	}
	old := revision == 0
	if int(f.Revision) != revision || f.Enhanced != (r.Enhanced() && !old) || f.Reject != (s == nil) {
		t.Fatalf("reply %+v to %+v", f, r)
	}
	if f.Markers != (old || cfg.Markers == mpa.MarkersOn) || f.CRC != (old || cfg.CRC || r.CRC()) {
		t.Fatalf("reply %+v to %+v", f, r)
	}
	var d mpa.EnhancedData
	if f.Enhanced {
		var err error
		if d, _, err = mpa.ParseEnhancedData(f.PrivateData); err != nil {
			t.Fatal(err)
		}
	}
	if d.PeerToPeer != (r.PeerToPeer() && !old) || d.PeerToPeer != (d.RTR != 0) && !(cfg.Draft05 && d.PeerToPeer) {
		t.Fatalf("reply says %+v to %+v", d, r)
	}
	if d.RTR&mpa.RTRRead != 0 && d.IRD == 0 {
		t.Fatalf("reply says %+v, where no Read can come", d)
	}
	if s == nil {
		return
	}
	if s.Enhanced && s.PeerIRD != mpa.ReadsManual && d.ORD != mpa.ReadsManual && (s.ORD > s.PeerIRD || int(d.ORD) != s.ORD) {
		t.Fatalf("reply says %+v of %+v", d, s)
	}
	if s.MarkersIn != f.Markers || s.MarkersOut != (old || r.Markers()) || s.CRC != f.CRC || s.Revision != revision || (s.Version == 0) != old {
		t.Fatalf("reply %+v to %+v, and %+v", f, r, s)
	}
	if s.Enhanced && d.IRD != mpa.ReadsManual && int(d.IRD) != s.IRD || s.RTR != d.RTR && !(s.AnySend && s.RTR == mpa.RTRSend && d.RTR == 0) {
		t.Fatalf("reply says %+v of %+v", d, s)
	}
}
