package capture

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"testing"
)

// The captures.
const (
	Stock = "nfs3-siw"     // MPA revision 2, enhanced, client-server model, CRC off
	CRC   = "nfs3-siw-crc" // the same with CRC32C
	P2P   = "nfs3-siw-p2p" // as Stock, but peer-to-peer: the RTR is an RDMA Write of length zero
)

// Names returns all captures.
func Names() []string { return []string{Stock, CRC, P2P} }

// Session is one TCP connection, from its first byte to its last.
type Session struct {
	Initiator []byte  // what the active side sent
	Responder []byte  // what the passive side sent
	Chunks    []Chunk // both streams, in the order in which they were on the wire
}

// Chunk is what one packet added to a stream.
type Chunk struct {
	FromInitiator bool
	Bytes         []byte
}

//go:embed testdata/*.pcap.gz
var files embed.FS

// Load returns a capture by its name.
func Load(tb testing.TB, name string) *Session {
	tb.Helper()
	s, err := load(name)
	if err != nil {
		tb.Fatalf("capture %s: %v", name, err)
	}
	return s
}

func load(name string) (*Session, error) {
	zipped, err := files.ReadFile("testdata/" + name + ".pcap.gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	file, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	packets, err := parsePcap(file)
	if err != nil {
		return nil, err
	}
	var c connection
	for i, p := range packets {
		seg, err := parseFrame(p)
		if err == nil {
			err = c.add(seg)
		}
		if err != nil {
			return nil, fmt.Errorf("packet %d: %w", i+1, err)
		}
	}
	return c.session()
}
