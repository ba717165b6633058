//go:build interop

package tshark

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tshark (4.0) reads a stream with markers well only if
//   - each TCP segment is one FPDU: it takes the length of the segment for that of the FPDU;
//   - an FPDU has one marker at most: when it takes them out, it looks for the next one 516 bytes
//     behind the last, not 512, so that what comes behind the second is garbled;
//   - no FPDU with a marker ends where the next marker will stand: it counts that one in, and drops
//     the FPDU;
//   - there are markers either both ways or not at all: if one side asks for them, it expects them
//     in both directions.
//
// So the captured streams are cut again into segments with unchanged FPDUs. If only one direction
// has markers, the session is decoded twice, each time with one direction converted to the form
// that tshark expects. Only the unconverted direction is checked.

// decodeMarked decodes a capture with markers in the marked directions. ok is false if TCP was not
// in order.
func decodeMarked(t *testing.T, file string, port int, marked [2]bool) (flows [2]flow, ok bool) {
	t.Helper()
	c, ok := recut(t, file, port, marked)
	if !ok {
		return flows, false
	}
	for i, n := range c.rest {
		if n > 0 {
			t.Errorf("direction %d ends with %d bytes of an incomplete FPDU", i, n)
		}
	}
	with := decode(t, dissect(t, c.as(t, true)), port)
	if marked[0] && marked[1] {
		return with, true
	}
	without := decode(t, dissect(t, c.as(t, false)), port)
	for i := range flows {
		if marked[i] {
			flows[i] = with[i]
		} else {
			flows[i] = without[i]
			flows[i].Startup = with[i].Startup // in the other the M bits are cleared
		}
	}
	return flows, true
}

// conversation has the startup frames and FPDUs of a connection, in the order in which they were
// complete.
type conversation struct {
	ports  [2]int // of the client and the server
	marked [2]bool
	crc    bool
	frames []frame
	rest   [2]int // bytes of an incomplete frame in the end
}

// The flags of a startup frame (RFC 5044 section 7.1.1).
const (
	flagsOffset = 16
	flagMarkers = 0x80
	flagCRC     = 0x40
)

type frame struct {
	from  int // 0: client, 1: server
	bytes []byte
	fpdu  bool
}

// recut reads a conversation from a capture with markers in the marked directions. ok is false if
// TCP was not in order.
func recut(t *testing.T, file string, port int, marked [2]bool) (c conversation, ok bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "tshark", "-r", file, "--disable-protocol", "iwarp_mpa", "-Y", "tcp.len > 0",
		"-T", "fields", "-e", "tcp.srcport", "-e", "tcp.dstport", "-e", "tcp.seq", "-e", "tcp.payload").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	c.marked = marked
	cutters := [2]cutter{{marked: marked[0]}, {marked: marked[1]}}
	var came [2]int
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			t.Fatalf("tshark: a TCP segment with %d fields, want 4: %.100q", len(fields), line)
		}
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(fields[i]); err != nil {
				t.Fatalf("tshark: %v", err)
			}
		}
		b, err := hex.DecodeString(fields[3])
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		from := 0
		c.ports = [2]int{n[0], n[1]}
		if n[0] == port {
			from = 1
			c.ports = [2]int{n[1], n[0]}
		}
		if n[2]-1 != came[from] {
			return c, false
		}
		came[from] += len(b)
		cut := &cutters[from]
		for _, b := range b {
			if whole := cut.take(b); whole != nil {
				c.frames = append(c.frames, frame{from, whole, cut.fpdus})
				if !cut.fpdus {
					cut.fpdus = true // the first frame is of the startup
					c.crc = c.crc || whole[flagsOffset]&flagCRC != 0
				}
			}
		}
	}
	for i := range cutters {
		c.rest[i] = len(cutters[i].all)
	}
	return c, true
}

// as writes the conversation to a file with markers in both directions or in none, with each frame
// in its own TCP segment.
func (c *conversation) as(t *testing.T, markers bool) string {
	t.Helper()
	var from, to [2]int // positions in the streams of FPDUs, as they are and as they are written
	frames := make([]frame, len(c.frames))
	for i, f := range c.frames {
		switch {
		case !f.fpdu && !markers:
			f.bytes = bytes.Clone(f.bytes)
			f.bytes[flagsOffset] &^= flagMarkers
		case f.fpdu:
			n := len(f.bytes)
			if c.marked[f.from] != markers {
				f.bytes = remark(f.bytes, from[f.from], to[f.from], markers, c.crc)
			}
			from[f.from] += n
			to[f.from] += len(f.bytes)
		}
		frames[i] = f
	}
	file := filepath.Join(t.TempDir(), "recut.pcap")
	writePcap(t, file, c.ports, frames)
	return file
}
