package rdmap

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// payloads calls add with the payloads of every twentieth segment of a capture, and of all Read
// Requests.
func payloads(f *testing.F, add func(payload []byte)) {
	s := capture.Load(f, capture.P2P)
	for _, stream := range [][]byte{s.Initiator, s.Responder} {
		_, fpdus := capture.Split(f, stream)
		for i, fpdu := range fpdus {
			h, payload, err := ddp.Parse(fpdu.ULPDU)
			if err != nil {
				f.Fatal(err)
			}
			if i%20 == 0 || isReadRequest(&h) {
				add(payload)
			}
		}
	}
}

// FuzzParseReadRequest: a parsed request encodes to the same bytes.
func FuzzParseReadRequest(f *testing.F) {
	payloads(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := ParseReadRequest(payload)
		if err != nil {
			if len(payload) >= ReadRequestLen {
				t.Fatalf("%d bytes: %v", len(payload), err)
			}
			return
		}
		if got := r.Append(nil); !bytes.Equal(got, payload[:ReadRequestLen]) {
			t.Errorf("got % x, want % x", got, payload[:ReadRequestLen])
		}
	})
}

// FuzzParseTerminate: a Terminate parsed from either form is the same after encoding in ours, and
// has a text.
func FuzzParseTerminate(f *testing.F) {
	for _, tt := range terminates {
		f.Add(unhex(f, tt.wire))
	}
	for _, tt := range draft05s {
		f.Add(unhex(f, tt.wire))
		f.Add(unhex(f, tt.wire[:4]+"c000"+"0112"+sendHex))
	}
	payloads(f, func(b []byte) {
		f.Add(b)
		f.Add(append([]byte{0x12, 0x05, 0xe0, 0x00, 0x00, 0x2e}, b...))
		f.Add(append([]byte{0x21, 0x05, 0x07, 0x00, 0x00, 0x2e}, b...))
	})
	f.Fuzz(func(t *testing.T, payload []byte) {
		want, err := ParseTerminate(payload)
		if want.Err(true).Error() == "" {
			t.Error("got no message")
		}
		if err != nil {
			return
		}
		b := want.Append(nil)
		if len(b) != want.Len() || len(b) > TerminateMaxLen || len(b) > len(payload) {
			t.Fatalf("got %d bytes, Len %d, from %d", len(b), want.Len(), len(payload))
		}
		got, err := ParseTerminate(b)
		if err != nil {
			t.Fatal(err)
		}
		if want.Draft05 && (b[0] != 0x23 || want.Code < MPACatastrophic || want.Code > MPARTR) {
			t.Errorf("got % x, %+v, in the dialect of the draft", b, want)
		}
		// Without flags, our form of a code may be another code in the other form.
		if b[2] == 0 && !want.Draft05 {
			return
		}
		want.Swapped = false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("terminate (-want +got):\n%s", diff)
		}
	})
}

// FuzzForSegment: for any segment, the Terminate is valid.
func FuzzForSegment(f *testing.F) {
	f.Add(uint16(ProtectionSTag), unhex(f, readHex+readRequestHex))
	f.Add(uint16(TaggedBounds), unhex(f, writeHex))
	payloads(f, func(b []byte) { f.Add(uint16(UntaggedMO), b) })
	f.Fuzz(func(t *testing.T, code uint16, segment []byte) {
		want := TerminateForSegment(Code(code), segment)
		b := want.Append(nil)
		if len(b) != want.Len() || len(b) > TerminateMaxLen {
			t.Fatalf("got %d bytes, Len %d", len(b), want.Len())
		}
		got, err := ParseTerminate(b)
		if err != nil {
			t.Fatal(err)
		}
		if b[2] == 0 {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("terminate (-want +got):\n%s", diff)
		}
	})
}
