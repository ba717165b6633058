package trace

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
)

// maxSegment is the most bytes in a TCP segment. With headers they fit in a packet of IPv4 and
// IPv6.
const maxSegment = 65400

// firstStep is between the first sequence numbers of successive streams. So a stream with the ports
// of an earlier one is no retransmission of it (RFC 9293 section 3.4.1).
const firstStep = 1 << 16

// stream is a TCP connection with made-up sequence numbers. Writer.mu guards it.
type stream struct {
	w    *Writer
	ends [2]netip.AddrPort
	next [2]uint32 // sequence number of the next byte from each
	over [2]bool   // whether FIN or RST was recorded
}

// The ends of a stream.
const (
	client = 0 // the end that dialled
	server = 1
)

// open begins a stream. If an end has no IP address and port, both get made-up ones.
func (w *Writer) open(dialing, listening net.Addr) *stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, known := addrPort(dialing)
	to, knownTo := addrPort(listening)
	if !known || !knownTo {
		const first, count, port = 49152, 1 << 14, 20049
		local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		from = netip.AddrPortFrom(local, first+w.ports%count)
		to = netip.AddrPortFrom(local, port)
		w.ports++
	}
	s := &stream{w: w, ends: sameFamily(from, to), next: [2]uint32{w.first, w.first}}
	w.first += firstStep
	s.segment(client, flagSYN, nil)
	s.segment(server, flagSYN|flagACK, nil)
	s.segment(client, flagACK, nil)
	w.flush()
	return s
}

// addrPort returns an IP address and port, if a has them.
func addrPort(a net.Addr) (at netip.AddrPort, ok bool) {
	if ip, is := a.(interface{ AddrPort() netip.AddrPort }); is {
		at = ip.AddrPort()
	}
	return at, at.IsValid()
}

// segment adds a segment; w.mu is held.
func (s *stream) segment(from int, flags byte, p []byte) {
	to := 1 - from
	ack := s.next[to]
	if flags&flagACK == 0 {
		ack = 0
	}
	s.w.tcp(s.ends[from], s.ends[to], s.next[from], ack, flags, p)
	s.next[from] += uint32(len(p))
	if flags&(flagSYN|flagFIN) != 0 {
		s.next[from]++
	}
}

// data adds bytes; w.mu is held.
func (s *stream) data(from int, p []byte) {
	for len(p) > 0 && s.w.err == nil {
		n := min(len(p), maxSegment)
		s.segment(from, flagPSH|flagACK, p[:n])
		p = p[n:]
	}
}

// unsent takes back the sequence numbers of the last n bytes, which were not sent; w.mu is held.
func (s *stream) unsent(from, n int) {
	if !s.over[from] {
		s.next[from] -= uint32(n)
	}
}

// pieces adds the first n bytes of pieces; w.mu is held.
func (s *stream) pieces(from int, pieces [][]byte, n int) {
	for _, p := range pieces {
		p = p[:min(n, len(p))]
		s.data(from, p)
		n -= len(p)
	}
}

// finish adds a FIN or RST, if there was none; w.mu is held.
func (s *stream) finish(from int, flag byte) {
	if !s.over[from] {
		s.over[from] = true
		s.segment(from, flag|flagACK, nil)
	}
}

// windowsReset is WSAECONNRESET, which Windows returns instead of ECONNRESET.
const windowsReset = syscall.Errno(10054)

// failed adds the peer's FIN or RST, if the error of a Read shows one; w.mu is held.
func (s *stream) failed(from int, err error) {
	switch {
	case errors.Is(err, io.EOF):
		s.finish(from, flagFIN)
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, windowsReset):
		s.finish(from, flagRST)
	}
}
