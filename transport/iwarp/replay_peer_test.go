package iwarp_test

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// replayPeer plays the captured other side on a plain TCP connection. Our steering tags and offsets
// differ from the captured ones, so it translates these in both directions.
type replayPeer struct {
	s    *replaySession
	conn replayConn
	flip replayFlip

	exposed chan struct{} // closed when windows is valid
	windows []replayPair
	sinks   []replayPair // of our RDMA Reads

	ahead []byte // translated bytes that have not been written
	next  int    // FPDU to be translated
	out   int    // bytes written

	in       []byte // bytes from our side that have not been compared
	compared int    // FPDUs
	startup  bool   // the startup frame has been compared
}

// replayConn is a TCP connection, possibly with markers that the peer does not see.
type replayConn interface {
	io.ReadWriter
	CloseWrite() error
}

// replayPair is a captured window, and our window that stands for it.
type replayPair struct {
	captured, ours transport.Remote
}

// replayFlip changes a bit of what the peer sends, if mask is not 0.
type replayFlip struct {
	at   int
	mask byte
}

// play takes turns as in the capture: all of them if whole is set, or until that many bytes have
// been sent.
func (p *replayPeer) play(turns []replayTurn, until int, whole bool) error {
	for _, turn := range turns {
		if turn.ours {
			if err := p.receive(turn.n); err != nil {
				return err
			}
			continue
		}
		n := min(turn.n, until-p.out)
		if _, err := p.conn.Write(p.bytes(n)); err != nil {
			return err
		}
		if p.out == until && !whole {
			return nil
		}
	}
	return nil
}

// rest sends n more bytes without waiting, ends the stream, and returns those of our FPDUs that
// have not been compared.
func (p *replayPeer) rest(n int) ([]byte, error) {
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := p.conn.Write(p.bytes(min(n, p.s.peer.len-p.out))); err == nil {
			p.conn.CloseWrite()
		}
	})
	b, err := io.ReadAll(p.conn)
	group.Wait()
	return append(p.in, b...), err
}

// bytes returns the next n bytes to send.
func (p *replayPeer) bytes(n int) []byte {
	if p.out == 0 {
		p.ahead = bytes.Clone(p.s.peer.startup)
	}
	for len(p.ahead) < n {
		<-p.exposed
		p.ahead = append(p.ahead, p.translate(&p.s.peer.fpdus[p.next])...)
		p.next++
	}
	b := bytes.Clone(p.ahead[:n])
	p.ahead = p.ahead[n:]
	if i := p.flip.at - p.out; i >= 0 && i < n {
		b[i] ^= p.flip.mask
	}
	p.out += n
	return b
}

// translate returns an FPDU of the peer translated for our endpoint.
func (p *replayPeer) translate(f *capturedFPDU) []byte {
	h, payload := f.header, f.payload
	switch {
	case f.op == rdmap.OpWrite:
		h = moved(h, p.windows)
	case f.op == rdmap.OpReadResponse:
		h = moved(h, p.sinks)
	case f.op == rdmap.OpReadRequest:
		r, err := rdmap.ParseReadRequest(payload)
		if err != nil {
			return f.Raw
		}
		m := moved(ddp.Header{STag: r.SourceSTag, Offset: r.SourceOffset}, p.windows)
		r.SourceSTag, r.SourceOffset = m.STag, m.Offset
		payload = r.Append(nil)
	case f.op.Invalidates():
		h.ULP = uint32(moved(ddp.Header{STag: transport.STag(h.ULP)}, p.windows).STag)
	default:
		return f.Raw
	}
	return f.withULPDU(h, payload, p.s.crc)
}

// moved returns h with our steering tag and offset in place of the captured ones, if there are any.
func moved(h ddp.Header, pairs []replayPair) ddp.Header {
	for _, pair := range pairs {
		if pair.captured.STag == h.STag {
			h.STag = pair.ours.STag
			h.Offset += pair.ours.Offset - pair.captured.Offset
			break
		}
	}
	return h
}

// receive reads n bytes of ours, and compares the FPDUs that are then complete with the captured
// ones.
func (p *replayPeer) receive(n int) error {
	start := len(p.in)
	p.in = append(p.in, make([]byte, n)...)
	if m, err := io.ReadFull(p.conn, p.in[start:]); err != nil {
		p.in = p.in[:start+m]
		return fmt.Errorf("waiting for FPDU %d: %w", p.compared, err)
	}
	if !p.startup {
		want := p.s.ours.startup
		if len(p.in) < len(want) {
			return nil
		}
		if got := p.in[:len(want)]; !bytes.Equal(got, want) {
			return fmt.Errorf("startup frame: got %q, want %q", got, want)
		}
		p.startup, p.in = true, p.in[len(want):]
	}
	for p.compared < len(p.s.ours.fpdus) {
		f := &p.s.ours.fpdus[p.compared]
		if len(p.in) < len(f.Raw) {
			break
		}
		if err := p.compare(f, p.in[:len(f.Raw)]); err != nil {
			return fmt.Errorf("FPDU %d: %w", p.compared, err)
		}
		p.compared++
		p.in = p.in[len(f.Raw):]
	}
	return nil
}

// compare compares one of our FPDUs with the captured one. It records and translates the sink of an
// RDMA Read, which is ours.
func (p *replayPeer) compare(f *capturedFPDU, raw []byte) error {
	if !sealed(raw, p.s.crc) {
		return fmt.Errorf("wrong CRC in % x", raw)
	}
	got := bytes.Clone(raw)
	if f.op == rdmap.OpReadRequest {
		h, payload, err := ddp.Parse(raw[2:][:len(f.ULPDU)])
		if err != nil {
			return err
		}
		r, err := rdmap.ParseReadRequest(payload)
		if err != nil {
			return err
		}
		captured, err := rdmap.ParseReadRequest(f.payload)
		if err != nil {
			return err
		}
		p.sinks = append(p.sinks, replayPair{
			captured: transport.Remote{STag: captured.SinkSTag, Offset: captured.SinkOffset},
			ours:     transport.Remote{STag: r.SinkSTag, Offset: r.SinkOffset},
		})
		r.SinkSTag, r.SinkOffset = captured.SinkSTag, captured.SinkOffset
		copy(got[2:], append(h.Append(nil), r.Append(nil)...))
		seal(got, p.s.crc)
	}
	if want := f.canonical(p.s.crc); !bytes.Equal(got, want) {
		return fmt.Errorf("got % x, want % x, a %v", got, want, f.op)
	}
	return nil
}
