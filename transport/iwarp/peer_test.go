package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// patience is how long these tests wait for an event before they report a hang.
const patience = hang.Patience

// peer is the other end of a connection, played by hand. It sends exactly what a test tells it to,
// and checks everything it gets.
type peer struct {
	t    testing.TB
	conn peerConn
	crc  bool

	rdmac bool       // DDP and RDMAP are of version 0
	out   *marking   // nil if its output has no markers
	in    *unmarking // likewise, reads

	sends uint32 // MSN of this side's latest message of queue 0
	takes uint32 // MSN of the other side's latest message of queue 0
}

// peerConn is a connection over TCP, or over a network in memory.
type peerConn interface {
	net.Conn
	CloseWrite() error
}

func newPeer(t testing.TB, conn net.Conn) *peer {
	t.Helper()
	conn.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { conn.Close() })
	return &peer{t: t, conn: conn.(peerConn)}
}

// dialPeer connects to a listener of ours.
func dialPeer(t testing.TB, addr string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, conn)
}

// acceptPeer takes the next connection of a dialer of ours.
func acceptPeer(t testing.TB, l net.Listener) *peer {
	t.Helper()
	if l, ok := l.(*net.TCPListener); ok {
		l.SetDeadline(time.Now().Add(patience))
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, conn)
}

// listenTCP listens as a peer of our dialers does.
func listenTCP(t testing.TB) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// requestFrame and replyFrame are startup frames (RFC 5044 section 7.1).
func requestFrame(bits, revision byte, private string) []byte {
	return startupFrame("MPA ID Req Frame", bits, revision, private)
}

func replyFrame(bits, revision byte, private string) []byte {
	return startupFrame("MPA ID Rep Frame", bits, revision, private)
}

func startupFrame(key string, bits, revision byte, private string) []byte {
	return append([]byte(key), append([]byte{bits, revision, byte(len(private) >> 8), byte(len(private))}, private...)...)
}

// mark makes p put markers into what it writes, and expect them in what it reads. p.crc must be
// set.
func (p *peer) mark(out, in bool) {
	p.out, p.in = nil, nil
	if out {
		p.out = &marking{crc: p.crc}
	}
	if in {
		p.in = &unmarking{crc: p.crc}
	}
}

// dialect converts a segment from or to its form on the wire. These tests are written for version 1
// of DDP and RDMAP. On a connection with version 0, the two versions are exchanged.
func (p *peer) dialect(ulpdu []byte) []byte {
	if !p.rdmac {
		return ulpdu
	}
	ulpdu = bytes.Clone(ulpdu)
	for i, swap := range []byte{0x01, 0x40} { // DDP's version, and RDMAP's
		if i < len(ulpdu) {
			ulpdu[i] ^= swap
		}
	}
	return ulpdu
}

// frame returns the next FPDU of the stream, for a segment in the dialect of p.
func (p *peer) frame(segment []byte) []byte { return p.fpdu(p.dialect(segment)) }

// fpdu returns the next FPDU of the stream for a ULPDU (RFC 5044 section 4.1).
func (p *peer) fpdu(ulpdu []byte) []byte {
	b := append([]byte{byte(len(ulpdu) >> 8), byte(len(ulpdu))}, ulpdu...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, p.sum(b))
	if p.out != nil {
		b = p.out.add(b)
	}
	return b
}

func (p *peer) sum(b []byte) uint32 {
	if !p.crc {
		return 0
	}
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// write sends bytes as they are.
func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatalf("peer: write: %v", err)
	}
}

// send sends segments, each in an FPDU, in one write.
func (p *peer) send(segments ...[]byte) {
	p.t.Helper()
	var b []byte
	for _, s := range segments {
		b = append(b, p.frame(s)...)
	}
	p.write(b)
}

// sendMessage sends a Send of one segment.
func (p *peer) sendMessage(data string) {
	p.t.Helper()
	p.sends++
	p.send(segment(onQueue(rdmap.OpSend, p.sends), data))
}

// read reads exactly n bytes.
func (p *peer) read(n int) []byte {
	p.t.Helper()
	b := make([]byte, n)
	if n, err := io.ReadFull(p.conn, b); err != nil {
		p.t.Fatalf("peer: read: %v after %d of %d bytes: % x", err, n, len(b), b[:min(n, 64)])
	}
	return b
}

// plain reads exactly n bytes of FPDUs, and checks the markers among them. It fails with io.EOF if
// the stream ends before them.
func (p *peer) plain(n int) (plain []byte, err error) {
	p.t.Helper()
	for len(plain) < n {
		b := make([]byte, n-len(plain))
		switch _, err := io.ReadFull(p.conn, b); {
		case err == io.EOF && len(plain) > 0:
			return plain, io.ErrUnexpectedEOF
		case err != nil:
			return plain, err
		}
		if p.in != nil {
			if b, err = p.in.add(b); err != nil {
				p.t.Fatalf("peer: %v", err)
			}
		}
		plain = append(plain, b...)
	}
	return plain, nil
}

// readStartup reads a startup frame.
func (p *peer) readStartup() []byte {
	p.t.Helper()
	h := p.read(20)
	return append(h, p.read(int(binary.BigEndian.Uint16(h[18:])))...)
}

// wantStartup reads a startup frame and compares it.
func (p *peer) wantStartup(want []byte) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.readStartup()); diff != "" {
		p.t.Errorf("startup frame (-want +got):\n%s", diff)
	}
}

// segment reads an FPDU, checks its framing, and returns the ULPDU.
func (p *peer) segment() []byte {
	p.t.Helper()
	s, ok := p.next()
	if !ok {
		p.t.Fatal("peer: the stream has ended, want an FPDU")
	}
	return s
}

// next is segment, but accepts that the stream ends before it.
func (p *peer) next() (ulpdu []byte, ok bool) {
	p.t.Helper()
	fpdu, err := p.plain(2)
	if err == io.EOF {
		return nil, false
	}
	n, padded := 0, 0
	if err == nil {
		n = int(binary.BigEndian.Uint16(fpdu))
		padded = (2 + n + 3) / 4 * 4
		var rest []byte
		rest, err = p.plain(padded - 2 + 4)
		fpdu = append(fpdu, rest...)
	}
	if err != nil {
		p.t.Fatalf("peer: read: %v after %d bytes of an FPDU", err, len(fpdu))
	}
	for _, b := range fpdu[2+n : padded] {
		if b != 0 {
			p.t.Errorf("FPDU padded with % x, want zeros", fpdu[2+n:padded])
		}
	}
	if got, want := binary.LittleEndian.Uint32(fpdu[padded:]), p.sum(fpdu[:padded]); got != want {
		p.t.Errorf("FPDU of %d bytes has CRC %#08x, want %#08x", len(fpdu), got, want)
	}
	return p.dialect(fpdu[2 : 2+n]), true
}

// want reads an FPDU and compares its ULPDU.
func (p *peer) want(what string, want []byte) {
	p.t.Helper()
	if got := p.segment(); !bytes.Equal(got, want) {
		p.t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

// wantMessage reads a Send of one segment, which must be the next of queue 0.
func (p *peer) wantMessage(data string) {
	p.t.Helper()
	p.takes++
	p.want("Send", segment(onQueue(rdmap.OpSend, p.takes), data))
}

// wantFIN expects the orderly end of the stream now.
func (p *peer) wantFIN() {
	p.t.Helper()
	var b [64]byte
	if n, err := p.conn.Read(b[:]); err != io.EOF {
		p.t.Fatalf("peer: read %d bytes and %v, want the end of the stream: % x", n, err, b[:n])
	}
}

// wantTerminate expects a Terminate message with this payload, and nothing behind it.
func (p *peer) wantTerminate(payload []byte) {
	p.t.Helper()
	p.want("Terminate", terminateSegment(payload))
	p.wantFIN()
}

// terminateSegment is the segment of a Terminate message: L, DDP version 1; RDMAP version 1,
// Terminate; queue 2, message 1, offset 0 (RFC 5040 section 4.8).
func terminateSegment(payload []byte) []byte {
	return append([]byte{0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}, payload...)
}

// reset closes the connection by an RST.
func (p *peer) reset() {
	p.conn.(*net.TCPConn).SetLinger(0)
	p.conn.Close()
}

// onQueue returns the header of an untagged message of one segment, on the queue of its opcode.
func onQueue(op rdmap.Opcode, msn uint32) ddp.Header {
	return ddp.Header{Last: true, Version: ddp.Version, Control: rdmap.Control(ddp.Version, op), Queue: op.Queue(), MSN: msn}
}

// toSTag returns the header of a tagged message of one segment.
func toSTag(op rdmap.Opcode, tag transport.STag, offset uint64) ddp.Header {
	return ddp.Header{
		Tagged: true, Last: true, Version: ddp.Version, Control: rdmap.Control(ddp.Version, op), STag: tag, Offset: offset,
	}
}

// with changes a header.
func with(h ddp.Header, change func(*ddp.Header)) ddp.Header {
	change(&h)
	return h
}

// more clears the L bit: the message goes on.
func more(h *ddp.Header) { h.Last = false }

// segment is a ULPDU.
func segment(h ddp.Header, payload string) []byte { return append(h.Append(nil), payload...) }

// readRequest is the payload of a Read Request for n bytes of a window.
func readRequest(from transport.STag, offset uint64, n int) string {
	r := rdmap.ReadRequest{SinkSTag: 0x51417a6, SinkOffset: 0x1000, Len: uint32(n), SourceSTag: from, SourceOffset: offset}
	return string(r.Append(nil))
}

// wantReadRequest reads a Read Request, and returns what it asks for.
func (p *peer) wantReadRequest(msn uint32) rdmap.ReadRequest {
	p.t.Helper()
	h, payload, err := ddp.Parse(p.segment())
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(onQueue(rdmap.OpReadRequest, msn), h); diff != "" {
		p.t.Fatalf("Read Request (-want +got):\n%s", diff)
	}
	r, err := rdmap.ParseReadRequest(payload)
	if err != nil || len(payload) != rdmap.ReadRequestLen {
		p.t.Fatalf("Read Request of %d bytes: %v", len(payload), err)
	}
	return r
}

// describe returns the name of a subtest.
func describe(dialing bool, crc iwarp.CRC) string {
	role := "listening"
	if dialing {
		role = "dialing"
	}
	return fmt.Sprintf("%s, CRC %v", role, crc == iwarp.CRCOn)
}
