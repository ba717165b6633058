package iwarp_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// violationRig is an endpoint and a peer played by hand that violates the protocol. All windows and
// receives of the endpoint are in one block of memory with guards between them, which wantMemory
// compares.
type violationRig struct {
	*peer
	*local
	t     testing.TB
	other *violationRig // another connection of the same rig

	memory []byte
	want   []byte // expected contents of the memory

	readable, writable, invalidatable, dead transport.Region
}

// The memory layout of a scene: pieces of 32 bytes, with guards of 32 bytes between them.
const (
	atWritable      = 1 // two pieces
	atReadable      = 3 // two pieces
	atInvalidatable = 5
	atReceives      = 6 // sceneReceives times two pieces
	atSinks         = atReceives + 2*violationReceives
	pieces          = atSinks + 2*2 // two sinks

	violationReceives = 3
	pieceLen          = 32
	guard             = 0xa5
)

// violationConfig is for the connections of a scene.
func violationConfig(crc iwarp.CRC) iwarp.Config { return iwarp.Config{CRC: crc, IRD: 2, ORD: 2} }

// rdmacConfig is violationConfig for version 0, which has CRC and markers.
func rdmacConfig() iwarp.Config {
	cfg := violationConfig(iwarp.CRCAuto)
	cfg.RNIC = mpa.RDMAC
	return cfg
}

// piece is a piece of the memory m.
func piece(m []byte, n int) []byte { return m[n*2*pieceLen:][:pieceLen] }

// newViolationRig makes a connection on which a Send and a Write of the peer have arrived.
func newViolationRig(t testing.TB, r *rig) *violationRig {
	t.Helper()
	s := &violationRig{t: t, memory: bytes.Repeat([]byte{guard}, (pieces+1)*2*pieceLen)}
	s.peer, s.local = r.connect()
	two := func(n int) [][]byte { return [][]byte{piece(s.memory, n), piece(s.memory, n+1)} }
	s.writable = s.expose(transport.RemoteWrite, two(atWritable)...)
	s.readable = s.expose(transport.RemoteRead, two(atReadable)...)
	s.invalidatable = s.expose(transport.RemoteRead|transport.RemoteInvalidate,
		piece(s.memory, atInvalidatable))
	s.dead = s.expose(transport.RemoteRead|transport.RemoteWrite|transport.RemoteInvalidate,
		make([]byte, 64))
	s.Revoke(s.dead)
	for i := range violationReceives {
		if err := s.PostRecv(&transport.RecvRequest{Local: slices(two(atReceives + 2*i)...)}); err != nil {
			t.Fatal(err)
		}
	}
	s.want = bytes.Clone(s.memory)
	s.start()
	s.send(s.write(0, "written"), segment(onQueue(rdmap.OpSend, 1), "before"))
	s.place(atReceives, "before")
	s.peer.sends = 1
	s.wantMessage("before")
	return s
}

// send makes the peer send segments.
func (s *violationRig) send(segments ...[]byte) { s.peer.send(segments...) }

// wantMessage expects a message at our end.
func (s *violationRig) wantMessage(want string) { s.local.wantMessage(want) }

// place records what memory should contain, from a piece on.
func (s *violationRig) place(n int, data string) {
	for ; len(data) > 0; n++ {
		data = data[copy(piece(s.want, n), data):]
	}
}

// write returns the segment of a correct Write, and records its effect.
func (s *violationRig) write(offset uint64, data string) []byte {
	s.place(atWritable, data)
	return segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base+offset), data)
}

// read makes our end read n bytes, up to 64, into sink number i.
func (s *violationRig) read(i, n int) rdmap.ReadRequest {
	if s.Endpoint == nil {
		return rdmap.ReadRequest{SinkSTag: placeholder(i)}
	}
	s.t.Helper()
	sink := slices(piece(s.memory, atSinks+2*i), piece(s.memory, atSinks+2*i+1))
	if n < transport.TotalLen(sink) {
		sink = slices(piece(s.memory, atSinks+2*i)[:n])
	}
	s.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: sink, Remote: transport.Remote{STag: 5, Offset: 6}})
	r := s.wantReadRequest(uint32(i + 1))
	if r.Len != uint32(n) || r.SourceSTag != 5 || r.SourceOffset != 6 {
		s.t.Fatalf("Read Request %+v, want one for %d bytes of STag 5, offset 6", r, n)
	}
	return r
}

// wantMemory compares all of the memory, guards included.
func (s *violationRig) wantMemory() {
	s.t.Helper()
	if !bytes.Equal(s.memory, s.want) {
		for i := range pieces {
			if got, want := piece(s.memory, i), piece(s.want, i); !bytes.Equal(got, want) {
				s.t.Errorf("piece %d of the memory (-want +got):\n%s", i, cmp.Diff(want, got))
			}
		}
		s.t.Error("memory is not as it ought to be")
	}
}

// offence is a violation by a peer, and what follows from it.
type offence struct {
	name string

	// segments returns the peer's segments. The last one is wrong. The next message of queue 0 is
	// message 3, for which the last receive, of 64 bytes, is posted. The next message of queue 1 is
	// message 1.
	segments func(s *violationRig) [][]byte

	code    rdmap.Code
	bare    bool // the Terminate has no copies of headers
	request bool // it has a copy of the Read Request header
	want    error

	messages []string // messages completed before the violation
	receives int      // receives to post in addition
}

// one returns the segments of an offence of one segment.
func one(seg func(s *violationRig) []byte) func(*violationRig) [][]byte {
	return func(s *violationRig) [][]byte { return [][]byte{seg(s)} }
}

// plain is one for a segment that does not depend on the scene.
func plain(h ddp.Header, payload string) func(*violationRig) [][]byte {
	return func(*violationRig) [][]byte { return [][]byte{segment(h, payload)} }
}

// writeTo returns a Write to a window at an offset from its base.
func writeTo(region func(s *violationRig) transport.Region, offset uint64,
	data string) func(*violationRig) [][]byte {
	return one(func(s *violationRig) []byte {
		r := region(s)
		return segment(toSTag(rdmap.OpWrite, r.STag, r.Base+offset), data)
	})
}

// readFrom returns a Read Request for n bytes of a window.
func readFrom(region func(s *violationRig) transport.Region, offset uint64,
	n int) func(*violationRig) [][]byte {
	return one(func(s *violationRig) []byte {
		r := region(s)
		return segment(onQueue(rdmap.OpReadRequest, 1), readRequest(r.STag, r.Base+offset, n))
	})
}

// respond returns the segments of a response to a Read of n bytes.
func respond(n int, segments func(s *violationRig, r rdmap.ReadRequest) [][]byte) func(*violationRig) [][]byte {
	return func(s *violationRig) [][]byte { return segments(s, s.read(0, n)) }
}

// response is the header of a Read Response at an offset in the sink of r.
func response(r rdmap.ReadRequest, offset uint64) ddp.Header {
	return toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset+offset)
}

func writable(s *violationRig) transport.Region       { return s.writable }
func readable(s *violationRig) transport.Region       { return s.readable }
func invalidatable(s *violationRig) transport.Region  { return s.invalidatable }
func dead(s *violationRig) transport.Region           { return s.dead }
func elsewhere(s *violationRig) transport.Region      { return s.other.writable }
func elsewhereToEnd(s *violationRig) transport.Region { return s.other.invalidatable }

// nobodys returns a window with a tag of index 0, which no window has.
func nobodys(*violationRig) transport.Region { return transport.Region{STag: 1} }

func nextKey(s *violationRig) transport.Region {
	r := s.writable
	r.STag = r.STag&^0xff | (r.STag+1)&0xff
	return r
}

// taggedViolations are violations of DDP's tagged model (RFC 5041 section 7.1), and those of RDMA
// Writes that RFC 5040 section 4.8 adds.
var taggedViolations = []offence{
	{name: "Write to nobody's STag", segments: writeTo(nobodys, 0, "x"), code: 0x1100, want: transport.ErrSTag},
	{name: "Write to STag 0", segments: plain(toSTag(rdmap.OpWrite, 0, 0), "x"), code: 0x1100, want: transport.ErrSTag},
	{name: "Write to a revoked STag", segments: writeTo(dead, 0, "x"), code: 0x1100, want: transport.ErrSTag},
	{name: "Write to an STag of another key", segments: writeTo(nextKey, 0, "x"), code: 0x1100, want: transport.ErrSTag},
	{name: "Write to an STag of another connection", segments: writeTo(elsewhere, 0, "x"), code: 0x1100, want: transport.ErrSTag},

	{name: "Write that ends behind the window", segments: writeTo(writable, 60, "12345"), code: 0x1101, want: transport.ErrBounds},
	{name: "Write longer than the window", segments: writeTo(writable, 0, string(make([]byte, 65))), code: 0x1101, want: transport.ErrBounds},
	{name: "Write behind the window", segments: writeTo(writable, 64, "x"), code: 0x1101, want: transport.ErrBounds},
	{name: "Write in front of the window", segments: writeTo(writable, math.MaxUint64, "xy"), code: 0x1101, want: transport.ErrBounds},
	{name: "second segment of a Write behind the window", segments: func(s *violationRig) [][]byte {
		h := toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base+56)
		s.place(atWritable, "written"+string(bytes.Repeat([]byte{guard}, 49))+"8 bytes.")
		return [][]byte{segment(with(h, more), "8 bytes."), segment(with(h, func(h *ddp.Header) { h.Offset += 8 }), "x")}
	}, code: 0x1101, want: transport.ErrBounds},
	{name: "Write that wraps", segments: one(func(s *violationRig) []byte {
		return segment(toSTag(rdmap.OpWrite, s.writable.STag, math.MaxUint64), "xy")
	}), code: 0x1103, want: transport.ErrBounds},
	{name: "Write to a window for reading", segments: writeTo(readable, 0, "x"), code: 0x0102, want: transport.ErrAccess},
	{name: "Write to a window for reading and invalidation",
		segments: writeTo(invalidatable, 0, "x"), code: 0x0102, want: transport.ErrAccess},

	{name: "tagged, DDP version 0", segments: plain(with(toSTag(rdmap.OpWrite, 1, 0), version(0)), ""), code: 0x1104, bare: true},
	{name: "tagged, DDP version 2", segments: plain(with(toSTag(rdmap.OpWrite, 1, 0), version(2)), ""), code: 0x1104, bare: true},
	{name: "tagged, DDP version 3", segments: plain(with(toSTag(rdmap.OpReadResponse, 1, 0), version(3)), ""), code: 0x1104, bare: true},
	{name: "tagged, RDMAP version 0", segments: plain(with(toSTag(rdmap.OpWrite, 1, 0), control(0x00)), ""), code: 0x0205},
	{name: "tagged, RDMAP version 2", segments: plain(with(toSTag(rdmap.OpWrite, 1, 0), control(0x80)), ""), code: 0x0205},
	{name: "tagged, RDMAP version 3", segments: plain(with(toSTag(rdmap.OpReadResponse, 1, 0), control(0xc2)), ""), code: 0x0205},
	{name: "tagged Read Request", segments: plain(toSTag(rdmap.OpReadRequest, 1, 0), readRequest(1, 0, 0)), code: 0x0206},
	{name: "tagged Send", segments: plain(toSTag(rdmap.OpSend, 1, 0), "x"), code: 0x0206},
	{name: "tagged Send with Invalidate", segments: plain(toSTag(rdmap.OpSendInvalidate, 1, 0), "x"), code: 0x0206},
	{name: "tagged Send with Solicited Event", segments: plain(toSTag(rdmap.OpSendSE, 1, 0), "x"), code: 0x0206},
	{name: "tagged Send with Solicited Event and Invalidate", segments: plain(toSTag(rdmap.OpSendSEInvalidate, 1, 0), "x"), code: 0x0206},
	{name: "tagged Terminate", segments: plain(toSTag(rdmap.OpTerminate, 1, 0), "x"), code: 0x0206},
	{name: "tagged reserved opcode 8", segments: plain(toSTag(8, 1, 0), "x"), code: 0x0206},
	{name: "tagged reserved opcode 15", segments: plain(toSTag(15, 1, 0), "x"), code: 0x0206},
}

// responseViolations are violations in responses to our RDMA Reads.
var responseViolations = []offence{
	{name: "Read Response without a Read", segments: plain(toSTag(rdmap.OpReadResponse, 0x1234567, 0), "x"), code: 0x0206},
	{name: "empty Read Response without a Read", segments: plain(toSTag(rdmap.OpReadResponse, 0x1234567, 0), ""), code: 0x0206},
	{name: "Read Response to the STag of a window", segments: respond(8, func(s *violationRig, _ rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(toSTag(rdmap.OpReadResponse, s.writable.STag, s.writable.Base), "12345678")}
	}), code: 0x1100, want: transport.ErrSTag},
	{name: "Read Response to the next Read", segments: respond(8, func(s *violationRig, _ rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(s.read(1, 8), 0), "12345678")}
	}), code: 0x1100, want: transport.ErrSTag},
	{name: "Write to the sink of a Read", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(toSTag(rdmap.OpWrite, r.SinkSTag, r.SinkOffset), "12345678")}
	}), code: 0x1100, want: transport.ErrSTag},
	{name: "Read Response at a wrong offset", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, 1), "12345678")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response in front of the sink", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, math.MaxUint64), "12345678")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response with a gap", segments: respond(8, func(s *violationRig, r rdmap.ReadRequest) [][]byte {
		s.place(atSinks, "123")
		return [][]byte{segment(with(response(r, 0), more), "123"), segment(response(r, 4), "5678")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response that repeats itself", segments: respond(8, func(s *violationRig, r rdmap.ReadRequest) [][]byte {
		s.place(atSinks, "1234")
		return [][]byte{segment(with(response(r, 0), more), "1234"),
			segment(response(r, 0), "1234")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response too long", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, 0), "123456789")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response too long in its second segment", segments: respond(64, func(s *violationRig, r rdmap.ReadRequest) [][]byte {
		s.place(atSinks, "1234")
		return [][]byte{segment(with(response(r, 0), more), "1234"),
			segment(response(r, 4), string(make([]byte, 61)))}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response too short", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, 0), "1234567")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "empty Read Response to a Read of something", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, 0), "")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response without its end", segments: respond(8, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(with(response(r, 0), more), "12345678")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "Read Response of something to a Read of nothing", segments: respond(0, func(_ *violationRig, r rdmap.ReadRequest) [][]byte {
		return [][]byte{segment(response(r, 0), "1")}
	}), code: 0x1101, want: transport.ErrBounds},
	{name: "second Read Response", segments: respond(8, func(s *violationRig, r rdmap.ReadRequest) [][]byte {
		s.place(atSinks, "12345678")
		return [][]byte{segment(response(r, 0), "12345678"), segment(response(r, 0), "12345678")}
	}), code: 0x0206},
}

// untaggedViolations are violations of DDP's untagged model (RFC 5041 section 7.2), and of the
// opcodes in it (RFC 5040 section 4.8).
var untaggedViolations = []offence{
	{name: "queue 3", segments: plain(with(onQueue(rdmap.OpSend, 1), queue(3)), "x"), code: 0x1201},
	{name: "the highest queue", segments: plain(with(onQueue(rdmap.OpSend, 1), queue(1<<32-1)), "x"), code: 0x1201},
	{name: "no receive", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "the last one")
		return [][]byte{segment(onQueue(rdmap.OpSend, 3), "the last one"),
			segment(onQueue(rdmap.OpSend, 4), "x")}
	}, code: 0x1202, want: transport.ErrNoReceive, messages: []string{"the last one"}},
	{name: "no receive for an empty message", segments: func(s *violationRig) [][]byte {
		return [][]byte{segment(onQueue(rdmap.OpSend, 3), ""),
			segment(onQueue(rdmap.OpSend, 4), "")}
	}, code: 0x1202, want: transport.ErrNoReceive, messages: []string{""}},
	{name: "message left out", segments: plain(onQueue(rdmap.OpSend, 4), "x"), code: 0x1203},
	{name: "message once more", segments: plain(onQueue(rdmap.OpSend, 2), "x"), code: 0x1203},
	{name: "message 0", segments: plain(onQueue(rdmap.OpSend, 0), "x"), code: 0x1203},
	{name: "next message before the end of one", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(onQueue(rdmap.OpSend, 4), "x")}
	}, code: 0x1203},
	{name: "Read Request 2 first", segments: plain(onQueue(rdmap.OpReadRequest, 2), readRequest(1, 0, 0)), code: 0x1203, request: true},
	{name: "Read Request 0", segments: plain(onQueue(rdmap.OpReadRequest, 0), readRequest(1, 0, 0)), code: 0x1203, request: true},
	{name: "message without its beginning", segments: plain(with(onQueue(rdmap.OpSend, 3), offset(1)), "x"), code: 0x1204},
	{name: "message with a gap", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(with(onQueue(rdmap.OpSend, 3), offset(5)), "x")}
	}, code: 0x1204},
	{name: "message that repeats itself", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(onQueue(rdmap.OpSend, 3), "half")}
	}, code: 0x1204},
	{name: "Read Request without its beginning", segments: plain(with(onQueue(rdmap.OpReadRequest, 1), offset(4)), readRequest(1, 0, 0)), code: 0x1204},
	{name: "message too long", segments: plain(onQueue(rdmap.OpSend, 3), string(make([]byte, 65))), code: 0x1205, want: transport.ErrTooLong},
	{name: "message too long in its second segment", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{
			segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(with(onQueue(rdmap.OpSend, 3), offset(4)), string(make([]byte, 61))),
		}
	}, code: 0x1205, want: transport.ErrTooLong},
	{name: "Read Request too long", segments: plain(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0)+"x"),
		code: 0x1205, request: true, want: transport.ErrTooLong},
	{name: "untagged, DDP version 0", segments: plain(with(onQueue(rdmap.OpSend, 3), version(0)), ""), code: 0x1206, bare: true},
	{name: "untagged, DDP version 2", segments: plain(with(onQueue(rdmap.OpSend, 3), version(2)), ""), code: 0x1206, bare: true},
	{name: "untagged, DDP version 3", segments: plain(with(onQueue(rdmap.OpReadRequest, 1), version(3)), readRequest(1, 0, 0)), code: 0x1206, bare: true},

	{name: "untagged, RDMAP version 0", segments: plain(with(onQueue(rdmap.OpSend, 3), control(0x03)), ""), code: 0x0205},
	{name: "untagged, RDMAP version 2", segments: plain(with(onQueue(rdmap.OpSend, 3), control(0x83)), ""), code: 0x0205},
	{name: "Read Request of RDMAP version 3", segments: plain(with(onQueue(rdmap.OpReadRequest, 1), control(0xc1)), readRequest(1, 0, 0)), code: 0x0205},
	{name: "untagged Write", segments: plain(onQueue(rdmap.OpWrite, 3), ""), code: 0x0206},
	{name: "untagged Read Response", segments: plain(onQueue(rdmap.OpReadResponse, 3), ""), code: 0x0206},
	{name: "untagged reserved opcode 8", segments: plain(onQueue(8, 3), ""), code: 0x0206},
	{name: "untagged reserved opcode 15", segments: plain(onQueue(15, 3), ""), code: 0x0206},
	{name: "reserved opcode on queue 1", segments: plain(with(onQueue(8, 1), queue(1)), ""), code: 0x0206},
	{name: "reserved opcode on queue 2", segments: plain(with(onQueue(8, 1), queue(2)), ""), code: 0x0206},
	{name: "Read Request on queue 0", segments: plain(with(onQueue(rdmap.OpReadRequest, 3), queue(0)), readRequest(1, 0, 0)), code: 0x0206, request: true},
	{name: "Read Request on queue 2", segments: plain(with(onQueue(rdmap.OpReadRequest, 1), queue(2)), readRequest(1, 0, 0)), code: 0x0206, request: true},
	{name: "Send on queue 1", segments: plain(with(onQueue(rdmap.OpSend, 1), queue(1)), ""), code: 0x0206},
	{name: "Send on queue 2", segments: plain(with(onQueue(rdmap.OpSend, 1), queue(2)), ""), code: 0x0206},
	{name: "Send with Invalidate on queue 1", segments: plain(with(onQueue(rdmap.OpSendInvalidate, 1), queue(1)), ""), code: 0x0206},
	{name: "Terminate on queue 0", segments: plain(with(onQueue(rdmap.OpTerminate, 3), queue(0)), "\x10\x00\x00\x00"), code: 0x0206},
	{name: "Terminate on queue 1", segments: plain(with(onQueue(rdmap.OpTerminate, 1), queue(1)), "\x10\x00\x00\x00"), code: 0x0206},
	{name: "Send that becomes a Send with Solicited Event", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(with(onQueue(rdmap.OpSendSE, 3), offset(4)), "x")}
	}, code: 0x0206},
	{name: "Send that becomes a Send with Invalidate", segments: func(s *violationRig) [][]byte {
		s.place(atReceives+4, "half")
		return [][]byte{segment(with(onQueue(rdmap.OpSend, 3), more), "half"),
			segment(with(onQueue(rdmap.OpSendInvalidate, 3), offset(4)), "x")}
	}, code: 0x0206},
}

// protectionViolations are violations in Read Requests and in Sends with Invalidate (RFC 5040
// section 4.8).
var protectionViolations = []offence{
	{name: "Read of nobody's STag", segments: readFrom(nobodys, 0, 1), code: 0x0100, request: true, want: transport.ErrSTag},
	{name: "Read of a revoked STag", segments: readFrom(dead, 0, 1), code: 0x0100, request: true, want: transport.ErrSTag},
	{name: "Read of an STag of another key", segments: readFrom(nextKey, 0, 1), code: 0x0100, request: true, want: transport.ErrSTag},
	{name: "Read of an STag of another connection", segments: readFrom(elsewhere, 0, 1), code: 0x0100, request: true, want: transport.ErrSTag},
	{name: "Read that ends behind the window", segments: readFrom(readable, 60, 5), code: 0x0101, request: true, want: transport.ErrBounds},
	{name: "Read behind the window", segments: readFrom(readable, 64, 1), code: 0x0101, request: true, want: transport.ErrBounds},
	{name: "Read in front of the window", segments: readFrom(readable, math.MaxUint64, 2), code: 0x0101, request: true, want: transport.ErrBounds},
	{name: "Read of 2 GiB", segments: readFrom(readable, 0, math.MaxInt32), code: 0x0101, request: true, want: transport.ErrBounds},
	{name: "Read of a window for writing", segments: readFrom(writable, 0, 1), code: 0x0102, request: true, want: transport.ErrAccess},
	{name: "Read that wraps", segments: one(func(s *violationRig) []byte {
		return segment(onQueue(rdmap.OpReadRequest, 1),
			readRequest(s.readable.STag, math.MaxUint64, 2))
	}), code: 0x0104, request: true, want: transport.ErrBounds},
	{name: "a Read too many", segments: func(s *violationRig) [][]byte {
		var all [][]byte
		for msn := range uint32(3) {
			all = append(all, segment(onQueue(rdmap.OpReadRequest, msn+1), readRequest(s.readable.STag, s.readable.Base, 64)))
		}
		return all
	}, code: 0x1202, request: true, want: transport.ErrTooManyReads},
	{name: "Read Request too short", segments: plain(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0)[:27]), code: 0x02ff},
	{name: "Read Request of nothing", segments: plain(onQueue(rdmap.OpReadRequest, 1), ""), code: 0x02ff},
	{name: "Read Request without its end", segments: plain(with(onQueue(rdmap.OpReadRequest, 1), more), readRequest(1, 0, 0)), code: 0x02ff, request: true},

	{name: "invalidation of nobody's STag", segments: invalidating(rdmap.OpSendInvalidate, nobodys), code: 0x0100, want: transport.ErrSTag},
	{name: "invalidation of a revoked STag", segments: invalidating(rdmap.OpSendInvalidate, dead), code: 0x0100, want: transport.ErrSTag},
	{
		name:     "invalidation of an STag of another connection",
		segments: invalidating(rdmap.OpSendInvalidate, elsewhereToEnd),
		code:     0x0100, want: transport.ErrSTag,
	},
	{name: "invalidation without the right", segments: invalidating(rdmap.OpSendInvalidate, writable), code: 0x0109, want: transport.ErrAccess},
	{name: "solicited invalidation of nobody's STag", segments: invalidating(rdmap.OpSendSEInvalidate, nobodys), code: 0x0100, want: transport.ErrSTag},
	{name: "solicited invalidation without the right", segments: invalidating(rdmap.OpSendSEInvalidate, readable), code: 0x0109, want: transport.ErrAccess},
	{name: "second invalidation", segments: func(s *violationRig) [][]byte {
		first := invalidating(rdmap.OpSendInvalidate, invalidatable)(s)
		again := onQueue(rdmap.OpSendInvalidate, 4)
		again.ULP = uint32(s.invalidatable.STag)
		return append(first, segment(again, ""))
	}, code: 0x0100, want: transport.ErrSTag, messages: []string{"bye"}, receives: 1},
}

// invalidating returns a Send that invalidates a window. Its data may be placed before that fails:
// the tag is checked at the end.
func invalidating(op rdmap.Opcode, region func(*violationRig) transport.Region) func(*violationRig) [][]byte {
	return one(func(s *violationRig) []byte {
		s.place(atReceives+4, "bye")
		return segment(with(onQueue(op, 3), func(h *ddp.Header) { h.ULP = uint32(region(s).STag) }), "bye")
	})
}

func version(v uint8) func(*ddp.Header)  { return func(h *ddp.Header) { h.Version = v } }
func control(c byte) func(*ddp.Header)   { return func(h *ddp.Header) { h.Control = c } }
func queue(n uint32) func(*ddp.Header)   { return func(h *ddp.Header) { h.Queue = n } }
func offset(mo uint32) func(*ddp.Header) { return func(h *ddp.Header) { h.MO = mo } }

func violations() []offence {
	var all []offence
	for _, some := range [][]offence{taggedViolations, responseViolations, untaggedViolations, protectionViolations} {
		all = append(all, some...)
	}
	return all
}

// eachSide runs f for both roles, with CRC and without.
func eachSide(t *testing.T, f func(t *testing.T, dialing bool, crc iwarp.CRC)) {
	for _, dialing := range []bool{false, true} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(dialing, crc), func(t *testing.T) { f(t, dialing, crc) })
		}
	}
}

// TestViolations has a peer break each rule. The answer is one Terminate message, and then an
// orderly end. With version 0, the segments with a wrong version have version 1.
func TestViolations(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for _, v := range violations() {
			t.Run(v.name, func(t *testing.T) { v.test(t, newRig(t, dialing, violationConfig(crc))) })
		}
	})
	for _, dialing := range []bool{false, true} {
		t.Run(describe(dialing, iwarp.CRCOn)+", version 0, markers", func(t *testing.T) {
			for _, v := range violations() {
				t.Run(v.name, func(t *testing.T) { v.test(t, newRig(t, dialing, rdmacConfig())) })
			}
		})
	}
}

func (v *offence) test(t *testing.T, r *rig) {
	s := newViolationRig(t, r)
	s.other = newViolationRig(t, r)
	s.receives(v.receives)

	// One write has correct segments, the wrong one, and many more after it.
	together := segment(onQueue(rdmap.OpSend, 2), "together")
	s.place(atReceives+2, "together")
	segments := append([][]byte{together}, v.segments(s)...)
	wrong := segments[len(segments)-1]
	late := segment(toSTag(rdmap.OpWrite, s.writable.STag, s.writable.Base), "late")
	for range 2000 {
		segments = append(segments, late)
	}
	s.send(segments...)

	s.wantTerminate(terminateBytes(v.code, s.dialect(wrong), !v.bare, v.request))
	err := s.ended()
	wantTerminated(t, err, v.code, false, v.want)
	for _, want := range append([]string{"together"}, v.messages...) {
		s.wantMessage(want)
	}
	if len(s.messages) > 0 {
		t.Errorf("received %q, too", <-s.messages)
	}
	s.wantMemory()

	alive(s.other.peer, s.other.local)
	r.wantCounters(map[string]int{"Connections": 2, "TerminatesSent": 1})
	r.log.want(t, 1, "connection terminated", s.conn.LocalAddr().String())
}

// wantTerminated checks the error of a connection that ended by a Terminate.
func wantTerminated(t *testing.T, err error, code rdmap.Code, remote bool, cause error) {
	t.Helper()
	var (
		got *rdmap.Error
		op  *transport.OpError
	)
	switch {
	case !errors.As(err, &op):
		t.Errorf("got error %v, want a *transport.OpError", err)
	case !errors.As(err, &got):
		t.Errorf("got error %v, want a *rdmap.Error", err)
	case got.Code != code || got.Remote != remote:
		t.Errorf("got %v: code %#04x, remote %t; want %#04x, %t", err, uint16(got.Code), got.Remote, uint16(code), remote)
	case cause != nil && !errors.Is(err, cause):
		t.Errorf("got error %v, want one that wraps %v", err, cause)
	}
}
