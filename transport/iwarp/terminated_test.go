package iwarp_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// terminates are all codes with which a peer can terminate (RFC 5040 section 4.8, RFC 5041 section
// 7, RFC 5044 section 8, RFC 6581 section 8), and the error that the upper layer gets.
var terminates = []struct {
	code rdmap.Code
	bare bool // without copies of headers
	want error
}{
	{0x0000, true, nil},
	{0x0100, false, transport.ErrSTag},
	{0x0101, false, transport.ErrBounds},
	{0x0102, false, transport.ErrAccess},
	{0x0103, false, transport.ErrSTag},
	{0x0104, false, transport.ErrBounds},
	{0x0109, false, transport.ErrAccess},
	{0x01ff, false, nil},
	{0x0205, false, nil},
	{0x0206, false, nil},
	{0x0207, false, nil},
	{0x0208, false, nil},
	{0x0209, false, transport.ErrAccess},
	{0x02ff, false, nil},
	{0x1000, false, nil}, // without copies, siw's form of it equals that of 0x0100
	{0x1100, false, transport.ErrSTag},
	{0x1101, false, transport.ErrBounds},
	{0x1102, false, transport.ErrSTag},
	{0x1103, false, transport.ErrBounds},
	{0x1104, true, nil},
	{0x1201, false, nil},
	{0x1202, false, transport.ErrNoReceive},
	{0x1203, false, nil},
	{0x1204, false, nil},
	{0x1205, false, transport.ErrTooLong},
	{0x1206, true, nil},
	{0x2001, true, nil},
	{0x2002, true, nil},
	{0x2003, true, nil},
	{0x2004, true, nil},
	{0x2005, true, nil},
	{0x2006, true, nil},
	{0x2007, true, nil},
}

// swapped returns the payload of a Terminate in siw's form: the nibbles of the first byte are
// swapped, and the header control bits are the lowest of their byte, in the opposite order.
func swapped(payload []byte) []byte {
	payload[0] = payload[0]<<4 | payload[0]>>4
	payload[2] = payload[2]>>7&1 | payload[2]>>5&2 | payload[2]>>3&4
	return payload
}

// TestTerminates has the peer end the connection for every reason, in the form of RFC 5040 and in
// siw's.
func TestTerminates(t *testing.T) {
	ours := segment(toSTag(rdmap.OpWrite, 0x1234567, 0x89), "") // the reported segment
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for _, tt := range terminates {
			for _, siw := range []bool{false, true} {
				t.Run(fmt.Sprintf("%#04x, swapped %t", uint16(tt.code), siw), func(t *testing.T) {
					r := newRig(t, dialing, violationConfig(crc))
					s := newViolationRig(t, r)
					payload := terminateBytes(tt.code, ours, !tt.bare, false)
					if siw {
						payload = swapped(payload)
					}
					together := segment(onQueue(rdmap.OpSend, 2), "together")
					s.place(atReceives+2, "together")
					late := segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base), "late")
					s.send(together, segment(onQueue(rdmap.OpTerminate, 1), string(payload)), late)
					s.wantFIN()
					wantTerminated(t, s.ended(), tt.code, true, tt.want)
					s.wantMessage("together")
					s.wantMemory()
					r.wantCounters(map[string]int{"Connections": 1, "TerminatesReceived": 1})
					r.log.want(t, 1, "terminated by peer")
				})
			}
		}
	})
}

// TestOddTerminates has malformed Terminates. There is no answer to a Terminate: they end the
// connection, too.
func TestOddTerminates(t *testing.T) {
	for _, tt := range []struct {
		name    string
		header  ddp.Header
		payload string
		want    rdmap.Code
	}{
		{"empty", onQueue(rdmap.OpTerminate, 1), "", rdmap.OperationUnspecified},
		{"three bytes", onQueue(rdmap.OpTerminate, 1), "\x11\x00\x00", rdmap.OperationUnspecified},
		{"copies missing", onQueue(rdmap.OpTerminate, 1), "\x11\x00\xe0\x00", rdmap.TaggedSTag},
		{"copies cut short", onQueue(rdmap.OpTerminate, 1), "\x12\x02\xc0\x00\x00\x12\x41\x43", rdmap.UntaggedNoBuffer},
		{"copies too long", onQueue(rdmap.OpTerminate, 1), "\x12\x02\x00\x00" + string(make([]byte, 1000)), rdmap.UntaggedNoBuffer},
		{"unknown code", onQueue(rdmap.OpTerminate, 1), "\x3f\xff\x00\x00", 0x3fff},
		{"message 2", onQueue(rdmap.OpTerminate, 2), "\x12\x02\x00\x00", rdmap.UntaggedNoBuffer},
		{"without its end", with(onQueue(rdmap.OpTerminate, 1), more), "\x12\x02\x00\x00", rdmap.UntaggedNoBuffer},
		{"at an offset", with(onQueue(rdmap.OpTerminate, 1), offset(4)), "\x12\x02\x00\x00", rdmap.UntaggedNoBuffer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newViolationRig(t, newRig(t, false, violationConfig(iwarp.CRCOff)))
			s.send(segment(tt.header, tt.payload))
			s.wantFIN()
			wantTerminated(t, s.ended(), tt.want, true, nil)
		})
	}
}

// A Terminate may be the first message of the peer, also in place of an RTR.
func TestTerminateFirst(t *testing.T) {
	for _, p2p := range []bool{false, true} {
		r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: p2p})
		p, l := r.connect()
		l.start()
		p.send(segment(onQueue(rdmap.OpTerminate, 1), "\x20\x06\x00\x00"))
		p.wantFIN()
		wantTerminated(t, l.ended(), rdmap.MPAIRD, true, nil)
	}
}

// Posted requests are flushed with the peer's reason.
func TestTerminateFlushes(t *testing.T) {
	s := newViolationRig(t, newRig(t, false, violationConfig(iwarp.CRCOff)))
	s.read(0, 8)
	s.post(&transport.WorkRequest{Op: transport.OpSend, Flags: transport.Fence, Local: slices([]byte("never sent"))})
	s.send(segment(onQueue(rdmap.OpTerminate, 1), "\x01\x02\x00\x00"))
	for range 2 {
		err := hang.Receive(t, "completion", s.completions)
		wantTerminated(t, err, rdmap.ProtectionAccess, true, transport.ErrFlushed)
		wantTerminated(t, err, rdmap.ProtectionAccess, true, transport.ErrAccess)
	}
	s.wantFIN()
}
