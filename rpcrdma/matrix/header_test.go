package matrix

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// This decoder of headers is written from the XDR of draft-ietf-nfsv4-rpcrdma-08 section 4.3.

// rdma_proc.
const (
	msg   = 0
	nomsg = 1
	msgp  = 2
	done  = 3
	fault = 4
)

var procNames = [...]string{"MSG", "NOMSG", "MSGP", "DONE", "ERROR"}

// rpc_rdma_errcode.
const (
	errVers  = 1
	errChunk = 2
)

// segment is xdr_rdma_segment.
type segment struct {
	handle, length uint32
	offset         uint64
}

// readSegment is xdr_read_chunk.
type readSegment struct {
	position uint32
	segment
}

// chunk is xdr_write_chunk.
type chunk []segment

func (c chunk) len() (n int) {
	for _, s := range c {
		n += int(s.length)
	}
	return n
}

// header is rdma_msg.
type header struct {
	xid, vers, credit, proc uint32
	align, thresh           uint32
	reads                   []readSegment
	writes                  []chunk
	reply                   chunk
	hasReply                bool
	code, low, high         uint32
}

// words reads 32-bit words.
type words struct {
	b   []byte
	bad bool
}

func (w *words) next() uint32 {
	if len(w.b) < 4 {
		w.bad = true
		return 0
	}
	v := binary.BigEndian.Uint32(w.b)
	w.b = w.b[4:]
	return v
}

// present reads the word in front of an optional.
func (w *words) present() bool {
	v := w.next()
	w.bad = w.bad || v > 1
	return v == 1 && !w.bad
}

func (w *words) segment() segment {
	s := segment{handle: w.next(), length: w.next()}
	s.offset = uint64(w.next())<<32 | uint64(w.next())
	return s
}

func (w *words) chunk() (c chunk) {
	for n := w.next(); n > 0 && !w.bad; n-- {
		c = append(c, w.segment())
	}
	return c
}

// parseHeader returns the header at the beginning of b, and the bytes after it.
func parseHeader(b []byte) (h header, rest []byte, err error) {
	w := words{b: b}
	h = header{xid: w.next(), vers: w.next(), credit: w.next(), proc: w.next()}
	if h.vers != 1 {
		return h, nil, fmt.Errorf("version %d", h.vers)
	}
	switch h.proc {
	case msgp:
		h.align, h.thresh = w.next(), w.next()
		fallthrough
	case msg, nomsg:
		for w.present() {
			h.reads = append(h.reads, readSegment{w.next(), w.segment()})
		}
		for w.present() {
			h.writes = append(h.writes, w.chunk())
		}
		if h.hasReply = w.present(); h.hasReply {
			h.reply = w.chunk()
		}
	case done:
	case fault:
		if h.code = w.next(); h.code == errVers {
			h.low, h.high = w.next(), w.next()
		} else if h.code != errChunk {
			w.bad = true
		}
	default:
		w.bad = true
	}
	if w.bad {
		return h, nil, fmt.Errorf("malformed header: %x", b)
	}
	if h.proc != msg && h.proc != msgp && len(w.b) > 0 {
		return h, nil, fmt.Errorf("%d bytes behind the header of an RDMA_%s", len(w.b), procNames[h.proc])
	}
	return h, w.b, nil
}

// append is the inverse of parseHeader.
func (h *header) append(b []byte) []byte {
	put := func(words ...uint32) {
		for _, w := range words {
			b = binary.BigEndian.AppendUint32(b, w)
		}
	}
	segment := func(s segment) { put(s.handle, s.length, uint32(s.offset>>32), uint32(s.offset)) }
	chunk := func(c chunk) {
		put(1, uint32(len(c)))
		for _, s := range c {
			segment(s)
		}
	}
	put(h.xid, h.vers, h.credit, h.proc)
	switch h.proc {
	case msgp:
		put(h.align, h.thresh)
		fallthrough
	case msg, nomsg:
		for _, r := range h.reads {
			put(1, r.position)
			segment(r.segment)
		}
		put(0)
		for _, c := range h.writes {
			chunk(c)
		}
		put(0)
		if h.hasReply {
			chunk(h.reply)
		} else {
			put(0)
		}
	case fault:
		put(h.code)
		if h.code == errVers {
			put(h.low, h.high)
		}
	}
	return b
}

// describe returns a message in the notation of Want.
func (h *header) describe(total, padding int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %d", procNames[h.proc], total)
	lengths := func(c chunk) {
		for i, seg := range c {
			fmt.Fprintf(&s, "%c%d", " +"[min(i, 1)], seg.length)
		}
		if len(c) == 0 {
			s.WriteString(" -")
		}
	}
	if h.proc == fault {
		fmt.Fprintf(&s, " %s", map[uint32]string{errVers: "ERR_VERS", errChunk: "ERR_CHUNK"}[h.code])
	}
	if h.proc == msgp {
		fmt.Fprintf(&s, " align %d thresh %d pad %d", h.align, h.thresh, padding)
	}
	for i, r := range h.reads {
		if i > 0 && h.reads[i-1].position == r.position {
			fmt.Fprintf(&s, "+%d", r.length)
		} else {
			fmt.Fprintf(&s, " read %d:%d", r.position, r.length)
		}
	}
	for _, c := range h.writes {
		s.WriteString(" write")
		lengths(c)
	}
	if h.hasReply {
		s.WriteString(" reply")
		lengths(h.reply)
	}
	return s.String()
}

// TestParseHeader: the decoder parses the example bytes and headers made by the encoder here. It
// rejects every truncation.
func TestParseHeader(t *testing.T) {
	tests := []struct {
		name string
		h    header
		want string
	}{
		{"lists absent", header{1, 1, 2, msg, 0, 0, nil, nil, nil, false, 0, 0, 0}, "MSG 28"},
		{"all lists", header{xid: 1, vers: 1, credit: 2, proc: nomsg,
			reads:  []readSegment{{0, segment{1, 100, 1 << 40}}, {0, segment{1, 50, 7}}, {52, segment{2, 9, 8}}},
			writes: []chunk{{{3, 1, 2}, {3, 4, 5}}, nil}, reply: chunk{{4, 77, 0}}, hasReply: true},
			"NOMSG 168 read 0:100+50 read 52:9 write 1+4 write - reply 77"},
		{"padding", header{xid: 1, vers: 1, credit: 2, proc: msgp, align: 64, thresh: 9}, "MSGP 36 align 64 thresh 9 pad 0"},
		{"done", header{xid: 1, vers: 1, credit: 2, proc: done}, "DONE 16"},
		{"chunk error", header{xid: 1, vers: 1, credit: 2, proc: fault, code: errChunk}, "ERROR 20 ERR_CHUNK"},
		{"version error", header{xid: 1, vers: 1, credit: 2, proc: fault, code: errVers, low: 1, high: 1}, "ERROR 28 ERR_VERS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.h.append(nil)
			got, rest, err := parseHeader(b)
			if err != nil || len(rest) > 0 {
				t.Fatalf("%d bytes left, error %v", len(rest), err)
			}
			if again := got.append(nil); !bytes.Equal(again, b) {
				t.Errorf("%x, encoded again %x", b, again)
			}
			if s := got.describe(len(b), 0); s != tt.want {
				t.Errorf("described as %q, want %q", s, tt.want)
			}
			for i := range b {
				if _, _, err := parseHeader(b[:i]); err == nil {
					t.Errorf("the first %d bytes of %d are taken for a header", i, len(b))
				}
			}
		})
	}
}
