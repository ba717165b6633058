//go:build interop

package sctp

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Chunk types (RFC 9260 section 3.2), and flags of DATA (section 3.3.1).
const (
	chunkData       = 0
	chunkInit       = 1
	chunkInitAck    = 2
	chunkAbort      = 6
	chunkCookieEcho = 10

	lastFragment  = 1 << 0 // E
	firstFragment = 1 << 1 // B
	unordered     = 1 << 2 // U
)

// paramAdaptation is the Adaptation Layer Indication (RFC 5061 section 4.2.6).
const paramAdaptation = 0xc006

// packet is an SCTP packet (RFC 9260 section 3). This parser shares nothing with the provider.
type packet struct {
	Source, Dest uint16
	Tag          uint32
	Chunks       []chunk
}

type chunk struct {
	Type, Flags byte
	Value       []byte // behind the length
}

// parsePacket also checks the checksum.
func parsePacket(b []byte) (p packet, err error) {
	const header = 12
	if len(b) < header {
		return p, errors.New("too short for SCTP")
	}
	// The checksum is that of the packet with zeros in its place. It goes out with its last byte
	// first (appendix A).
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	sum.Write(b[:8])
	sum.Write(make([]byte, 4))
	sum.Write(b[header:])
	if got, want := binary.LittleEndian.Uint32(b[8:]), sum.Sum32(); got != want {
		return p, fmt.Errorf("checksum %08x, want %08x", got, want)
	}
	p.Source, p.Dest = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Tag = binary.BigEndian.Uint32(b[4:])
	for b = b[header:]; len(b) > 0; {
		var c chunk
		if c, b, err = parseChunk(b); err != nil {
			return p, err
		}
		p.Chunks = append(p.Chunks, c)
	}
	return p, nil
}

// parseChunk splits off a chunk.
func parseChunk(b []byte) (c chunk, rest []byte, err error) {
	value, rest, err := parseTLV(b)
	if err != nil {
		return c, nil, fmt.Errorf("chunk: %w", err)
	}
	if len(b)%4 != 0 {
		return c, nil, errors.New("chunk: not padded")
	}
	return chunk{b[0], b[1], value}, rest, nil
}

// parseTLV splits off a part with its length in the second half-word. It is padded to a multiple of
// four, except that a chunk does not count the padding of its last parameter (section 3.2).
func parseTLV(b []byte) (value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("cut off in the header")
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n < 4 || n > len(b) {
		return nil, nil, fmt.Errorf("length %d of %d bytes", n, len(b))
	}
	return b[4:n], b[min((n+3)&^3, len(b)):], nil
}

// initParams is the offset of the parameters of INIT and INIT ACK (section 3.3.2).
const initParams = 16

// indication returns the whole Adaptation Layer Indication of an INIT or INIT ACK in hexadecimal,
// and "" if there is none.
func (c chunk) indication() (found string, err error) {
	if len(c.Value) < initParams {
		return "", fmt.Errorf("INIT of %d bytes", len(c.Value))
	}
	for b := c.Value[initParams:]; len(b) > 0; {
		value, rest, err := parseTLV(b)
		if err != nil {
			return "", fmt.Errorf("parameter: %w", err)
		}
		if binary.BigEndian.Uint16(b) == paramAdaptation {
			found += hex.EncodeToString(b[:4+len(value)])
		}
		b = rest
	}
	return found, nil
}

// data is a DATA chunk.
type data struct {
	Flags  byte
	TSN    uint32
	Stream uint16
	PPID   uint32
	Bytes  string // in hexadecimal
}

func (c chunk) data() (d data, err error) {
	if c.Type != chunkData || len(c.Value) <= 12 {
		return d, fmt.Errorf("no DATA: %+v", c)
	}
	be := binary.BigEndian
	return data{c.Flags, be.Uint32(c.Value), be.Uint16(c.Value[4:]), be.Uint32(c.Value[8:]),
		hex.EncodeToString(c.Value[12:])}, nil
}

// parseAll parses all datagrams from one end. Each must be one packet.
func parseAll(t *testing.T, all []datagram, fromClient bool) (packets []packet) {
	t.Helper()
	for _, d := range all {
		if d.FromClient != fromClient {
			continue
		}
		p, err := parsePacket(d.Payload)
		if err != nil {
			t.Fatalf("packet %x: %v", d.Payload, err)
		}
		packets = append(packets, p)
	}
	return packets
}

// chunksOf returns the chunks of a type, in the order of the packets.
func chunksOf(packets []packet, kind byte) (chunks []chunk) {
	for _, p := range packets {
		for _, c := range p.Chunks {
			if c.Type == kind {
				chunks = append(chunks, c)
			}
		}
	}
	return chunks
}

// dataOf returns the data in the packets, with each TSN once.
func dataOf(t *testing.T, packets []packet) (all []data) {
	t.Helper()
	seen := make(map[uint32]bool)
	for _, c := range chunksOf(packets, chunkData) {
		d, err := c.data()
		if err != nil {
			t.Fatal(err)
		}
		if !seen[d.TSN] {
			seen[d.TSN] = true
			all = append(all, d)
		}
	}
	return all
}

// The parser handles a packet made by hand. Its CRC was computed bit by bit from the polynomial of
// RFC 9260 appendix A.
func TestParsePacket(t *testing.T) {
	const golden = "138826ab 01020304 CHECKSUM" + // ports 5000 and 9899
		"00070015 0000000a 0003 0000 00000010 0000c0ffee 000000" // DATA, U, B and E, and padding
	b := unhex(t, golden, "CHECKSUM", "00000000")
	binary.LittleEndian.PutUint32(b[8:], bitwiseCRC32c(b))
	got, err := parsePacket(b)
	if err != nil {
		t.Fatal(err)
	}
	want := packet{5000, 9899, 0x01020304, []chunk{{chunkData, 7, b[16 : 12+0x15]}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d, err := got.Chunks[0].data()
	wantData := data{unordered | firstFragment | lastFragment, 10, 3, 16, "0000c0ffee"}
	if err != nil || d != wantData {
		t.Errorf("data %+v, error %v, want %+v", d, err, wantData)
	}
	for i := range b {
		if p, err := parsePacket(b[:i]); err == nil {
			t.Errorf("parsed the first %d bytes: %+v", i, p)
		}
		b[i] ^= 0x10
		if p, err := parsePacket(b); err == nil {
			t.Errorf("parsed with byte %d wrong: %+v", i, p)
		}
		b[i] ^= 0x10
	}
}

// bitwiseCRC32c divides by the polynomial 0x11EDC6F41, with its bits reversed.
func bitwiseCRC32c(b []byte) uint32 {
	crc := ^uint32(0)
	for _, c := range b {
		crc ^= uint32(c)
		for range 8 {
			if crc&1 != 0 {
				crc = crc>>1 ^ 0x82f63b78
			} else {
				crc >>= 1
			}
		}
	}
	return ^crc
}
