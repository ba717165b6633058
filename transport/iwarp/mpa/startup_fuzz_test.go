package mpa

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

// scriptedPeer is a connection whose peer has said all it will.
type scriptedPeer struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *scriptedPeer) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *scriptedPeer) Write(p []byte) (int, error) { return s.out.Write(p) }

// fuzzConfig makes a Config of arbitrary bits, not always a valid one.
func fuzzConfig(flags uint16, ird, ord, required int16) Config {
	return Config{
		IRD: int(ird), ORD: int(ord), RequiredORD: int(required),
		RTR: RTR(flags & 0xf), Enhanced: Enhanced(flags >> 4 & 3),
		ManualReads: flags&0x40 != 0, PeerToPeer: flags&0x80 != 0, CRC: flags&0x100 != 0,
	}
}

// checkFuzzError checks that err is one of those that the caller is told of, and that a Terminate is not
// spoken of to a peer that expects none.
func checkFuzzError(t *testing.T, err error, initiator bool) {
	t.Helper()
	var started *StartupError
	var rejected *RejectError
	switch {
	case errors.Is(err, ErrConfig):
	case initiator && errors.As(err, &rejected):
	case !errors.As(err, &started):
		t.Fatalf("got %v", err)
	case started.Code < CodeLost || started.Code > CodeRTR || started.Terminate && !initiator:
		t.Fatalf("got %#v", started)
	}
}

func FuzzInitiate(f *testing.F) {
	for _, c := range siwStartups(f) {
		f.Add(c.reply, uint16(0), int16(128), int16(0), int16(0))
		f.Add(c.reply, uint16(0x80), int16(128), int16(1), int16(0))
		f.Add(c.reply, uint16(0x20), int16(128), int16(1), int16(0))
	}
	f.Add(repFrame(f, "10 02 0004 3fff3fff"), uint16(0x40), int16(16), int16(16), int16(0))
	f.Add(repFrame(f, "30 02 0006 00100004 6e6f"), uint16(0), int16(16), int16(16), int16(0))
	f.Add(repFrame(f, "00 01 0000"), uint16(0x120), int16(16), int16(16), int16(0))
	f.Fuzz(func(t *testing.T, reply []byte, flags uint16, ird, ord, required int16) {
		cfg := fuzzConfig(flags, ird, ord, required)
		conn := &scriptedPeer{in: bytes.NewReader(reply)}
		s, err := Initiate(conn, cfg, []byte("private"))
		if err != nil {
			checkFuzzError(t, err, true)
			return
		}
		if s.Revision != int(cfg.revision()) || s.Enhanced != (s.Revision == 2) || s.IRD != cfg.IRD || s.ORD > cfg.ORD {
			t.Fatalf("%+v from %+v", s, cfg)
		}
		if s.Enhanced && !cfg.ManualReads && (s.ORD > s.PeerIRD || s.PeerORD > s.IRD && s.PeerORD != ReadsManual) {
			t.Fatalf("reads of %+v", s)
		}
		if s.PeerToPeer != cfg.PeerToPeer || s.PeerToPeer != (s.RTR != 0) || s.RTR&^cfg.sends() != 0 {
			t.Fatalf("model of %+v", s)
		}
		if len(s.PrivateData) > MaxPrivateData {
			t.Fatalf("%d bytes of private data", len(s.PrivateData))
		}
	})
}

func FuzzRespond(f *testing.F) {
	for _, c := range siwStartups(f) {
		f.Add(c.request, false, uint16(0), int16(16), int16(16), int16(0))
		f.Add(c.request, true, uint16(0x102), int16(0), int16(128), int16(8))
	}
	f.Add(reqFrame(f, "d0 00 0004 3fff3fff"), false, uint16(0x40), int16(16), int16(16), int16(0))
	f.Add(reqFrame(f, "80 01 0000"), false, uint16(0x20), int16(16), int16(16), int16(0))
	f.Fuzz(func(t *testing.T, request []byte, reject bool, flags uint16, ird, ord, required int16) {
		cfg := fuzzConfig(flags, ird, ord, required)
		conn := &scriptedPeer{in: bytes.NewReader(request)}
		r, err := ReadRequest(conn)
		if err != nil {
			checkFuzzError(t, err, false)
			if conn.out.Len() > 0 {
				t.Fatalf("%v, and yet a reply: %x", err, conn.out.Bytes())
			}
			return
		}
		var s *Setup
		if reject {
			err = r.Reject(cfg, []byte("private"))
		} else {
			s, err = r.Accept(cfg, []byte("private"))
		}
		if err != nil {
			checkFuzzError(t, err, false)
		}
		if errors.Is(err, ErrConfig) || errors.Is(err, ErrEnhanced) {
			if conn.out.Len() > 0 {
				t.Fatalf("%v, and yet a reply: %x", err, conn.out.Bytes())
			}
			return
		}
		checkFuzzReply(t, r, s, &conn.out)
	})
}

// checkFuzzReply checks that the reply is one frame, that it fits the request, and the setup, if any.
func checkFuzzReply(t *testing.T, r *Request, s *Setup, out io.Reader) {
	f := Frame{Reply: true}
	if _, err := readFrame(out, &f); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 1)); n > 0 {
		t.Fatal("bytes behind the reply")
	}
	if int(f.Revision) != max(r.Revision(), 1) || f.Enhanced != r.Enhanced() || f.Reject != (s == nil) || f.Markers || !f.CRC && r.CRC() {
		t.Fatalf("reply %+v to %+v", f, r.frame)
	}
	d, _, err := f.split()
	if err != nil {
		t.Fatal(err)
	}
	if d.PeerToPeer != r.PeerToPeer() || d.PeerToPeer != (d.RTR != 0) {
		t.Fatalf("reply says %+v to %+v", d, r.data)
	}
	if s == nil {
		return
	}
	if s.Enhanced && s.PeerIRD != ReadsManual && d.ORD != ReadsManual && (s.ORD > s.PeerIRD || int(d.ORD) != s.ORD) {
		t.Fatalf("reply says %+v of %+v", d, s)
	}
	if s.Enhanced && d.IRD != ReadsManual && int(d.IRD) != s.IRD || s.RTR != d.RTR {
		t.Fatalf("reply says %+v of %+v", d, s)
	}
}
