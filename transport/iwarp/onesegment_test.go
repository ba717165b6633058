//go:build linux

package iwarp_test

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// smallMSS is the maximum segment size in bytes of the sockets of TestOneSegment.
const smallMSS = 1000

// smallSegments sets smallMSS on a socket, and so on those that it accepts.
func smallSegments(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, smallMSS) }); cerr != nil {
		return cerr
	}
	return err
}

// maxSegmentSize returns the maximum segment size of the peer's socket, which the other end shares.
func (p *peer) maxSegmentSize() int {
	p.t.Helper()
	raw, err := p.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	n := 0
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG) }); cerr != nil || err != nil {
		p.t.Fatal(cerr, err)
	}
	return n
}

// fpduSizes reads the FPDUs of a message of n bytes, in segments with headers of that length, after
// that many bytes of the stream. It returns how many bytes of the stream each FPDU takes, including
// the markers in it and the one before it.
func (p *peer) fpduSizes(n, header, read int, markers bool) (sizes []int) {
	p.t.Helper()
	const every, marker = 512, 4
	plain := func(n int) (b []byte) {
		for len(b) < n {
			if markers && read%every == 0 {
				p.read(marker)
				read += marker
			}
			part := min(n-len(b), every-read%every)
			b = append(b, p.read(part)...)
			read += part
		}
		return b
	}
	full := 0 // payload of all segments but the last
	for last := false; !last; {
		begin := read
		length := plain(2)
		ulpdu := int(length[0])<<8 | int(length[1])
		last = plain((2+ulpdu+3)/4*4 - 2 + 4)[0]&0x40 != 0 // L
		sizes = append(sizes, read-begin)
		payload := ulpdu - header
		if full == 0 {
			full = payload
		}
		if payload%4 != 0 && !last || payload != min(full, n) || last != (n == payload) {
			p.t.Fatalf("FPDU %d of a message: %d bytes of payload, last %t, want %d, %d to come", len(sizes)-1, payload, last, full, n)
		}
		n -= payload
	}
	return sizes
}

// TestOneSegment has FPDUs that fit a TCP segment, whether that is small, or as large as on a
// loopback interface.
func TestOneSegment(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for _, tt := range []struct {
			name    string
			small   bool
			markers bool
		}{
			{"small", true, false},
			{"small, markers", true, true},
			{"large", false, false},
			{"large, markers", false, true},
		} {
			t.Run(tt.name, func(t *testing.T) { testOneSegment(t, dialing, tt.small, tt.markers, crc) })
		}
	})
}

func testOneSegment(t *testing.T, dialing, small, markers bool, crc iwarp.CRC) {
	cfg := iwarp.Config{CRC: crc, MaxSegment: mpa.FPDUPerTCPSegment}
	if small {
		cfg.Control = smallSegments
	}
	r := newRig(t, dialing, cfg)
	own, theirs := byte(0x10), byte(0x10)
	if crc == iwarp.CRCOn {
		own |= 0x40
		theirs |= 0x40
	}
	if markers {
		theirs |= 0x80
	}
	const data = "\x00\x10\x00\x10"
	var p *peer
	var l *local
	if dialing {
		p, l = r.reached(requestFrame(own, 2, data), replyFrame(theirs, 2, data))
	} else {
		p, l = r.accepted(requestFrame(theirs, 2, data), replyFrame(own, 2, data))
		p.send(segment(toSTag(rdmap.OpWrite, 1, 0), "")) // we may send now
	}
	l.start()
	mss := p.maxSegmentSize()
	if small && (mss > smallMSS || mss < smallMSS-40) {
		t.Fatalf("TCP segments of %d bytes, want about %d", mss, smallMSS)
	}

	// A Send, an RDMA Write, and the response to an RDMA Read.
	n := 20 * mss
	l.post(&transport.WorkRequest{Op: transport.OpSend, Local: slices(make([]byte, n))})
	sizes := p.fpduSizes(n, 18, 0, markers)
	l.post(&transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 1}, Local: slices(make([]byte, n))})
	sizes = append(sizes, p.fpduSizes(n, 14, sum(sizes), markers)...)
	w := l.expose(transport.RemoteRead, make([]byte, n))
	p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, n)))
	sizes = append(sizes, p.fpduSizes(n, 14, sum(sizes), markers)...)

	longest := 0
	for i, size := range sizes {
		if size > mss {
			t.Errorf("FPDU %d takes %d bytes, want %d at most", i, size, mss)
		}
		longest = max(longest, size)
	}
	// Room is left for a marker even if there is none, and payload comes in multiples of four.
	if spare := mss - longest; small && spare >= 16 {
		t.Errorf("the longest FPDU takes %d bytes of %d", longest, mss)
	}
}

func sum(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}
