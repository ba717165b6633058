//go:build interop

package sctp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// If a peer sends what RFC 5043 does not permit, that session is terminated (section 6.1), and its
// later messages are ignored. Another session goes on.
func TestOurMalformed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ppid    uint32
		ordered bool
		bytes   string
	}{
		{"unknown function", 17, false, "0001 0008"},
		{"function 0", 17, false, "0001 0000"},
		{"function of 32 bits, as in the draft", 17, false, "0001 00000001"},
		{"Initiate for the second time", 17, false, "0001 0001"},
		{"Accept of the side that asks", 17, false, "0001 0002"},
		{"Enhanced Reject of the side that asks", 17, false, "0001 0007 0010 0010"},
		{"Terminate with private data", 17, false, "0001 0004 00"},
		{"control without a function", 17, false, "0001"},
		{"a byte", 17, false, "00"},
		{"PPID 51", 51, false, "74657874"},
		{"PPID 0", 0, false, "0001" + send(1, "00")},
		{"PPID of the draft", 1, false, send(1, "00")},
		{"ordered segment", 16, true, "0001" + send(1, "00")},
		{"ordered control", 17, true, "0001 0004"},
		{"DDP-SSN half of all ahead", 16, false, "8001" + send(1, "00")},
		{"DDP-SSN of the past", 16, false, "ffff" + send(1, "00")},
		{"DDP-SSN for the second time", 16, false, "0000" + send(1, "00")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBothRoles(t, sctp.Config{Streams: 4}, func(r *rig, e *end) {
				var other *end
				if r.listen != nil {
					other = r.session(1)
				} else {
					dial := r.dial("")
					r.hears(1, 17, "0000 0001")
					r.says(1, 17, "0000 0002")
					other = r.end(dial)
				}
				r.peer.send(0, tt.ppid, !tt.ordered, fmt.Sprintf("%x", unhex(r.t, tt.bytes)))
				if err := e.ended(); !errors.Is(err, sctp.ErrViolation) {
					r.t.Errorf("got error %v, want %v", err, sctp.ErrViolation)
				}
				r.hears(0, 17, "0001 0004")
				r.says(0, 16, "0001"+send(1, "00"))
				r.goOn(1, other)
				if n := r.low.Counters.Stats().Violations; n != 1 {
					r.t.Errorf("%d violations are counted, want 1", n)
				}
			})
		})
	}
}

// A DDP-SSN may be ahead, as long as the messages before it can still come.
func TestOurFarAhead(t *testing.T) {
	inBothRoles(t, sctp.Config{}, func(r *rig, e *end) {
		e.receives()
		r.says(0, 17, "7fff 0004") // the farthest, with 32,767 in front of it
		r.says(0, 16, "0001"+send(1, "6869"))
		e.wantMessage("6869")
		e.Close()
		r.hears(0, 17, "0001 0004")
	})
}

// A segment outside of a session is terminated. So is a session that does not begin with Initiate,
// and an Initiate to a side that has sent one itself.
func TestOurMisplaced(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ppid  uint32
		bytes string
	}{
		{"segment", 16, "0000" + send(1, "00")},
		{"Accept", 17, "0000 0002"},
		{"Reject", 17, "0000 0003"},
		{"Enhanced Accept", 17, "0000 0006 0010 0010"},
		{"unknown function", 17, "0000 0063"},
		{"Enhanced Initiate without IRD and ORD", 17, "0000 0005 0010"},
		{"Initiate with too much private data", 17, "0000 0001" + most + "00"},
		{"Enhanced Initiate with too much private data", 17, "0000 0005 0010 0010" + mostEnhanced +
			"00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := asked(t, iwarp.Config{}, sctp.Config{}, nil)
			defer r.over()
			other := r.session(1)
			r.says(0, tt.ppid, tt.bytes)
			r.hears(0, 17, "0000 0004")
			r.goOn(1, other)
		})
	}
	t.Run("Initiate to the side that asks", func(t *testing.T) {
		r := asks(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{})
		defer r.over()
		dial := r.dial("")
		r.expectUp()
		r.hears(0, 17, "0000 0001")
		r.says(0, 17, "0000 0001")
		if err := r.refused(dial); !errors.Is(err, sctp.ErrViolation) {
			t.Errorf("got error %v, want %v", err, sctp.ErrViolation)
		}
		r.hears(0, 17, "0001 0004")
	})
}

// In the draft, a message that is neither DDP nor Reset ends its stream by Reset. Other streams go
// on.
func TestOurDraftMalformed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ppid    uint32
		ordered bool
		bytes   string
	}{
		{"PPID 51", 51, false, "74657874"},
		{"PPID of RFC 5043", 16, false, "0001" + send(1, "00")},
		{"ordered", 1, true, send(1, "00")},
		{"unknown function", 2, false, "00000002"},
		{"control, cut off", 2, false, "000001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := asked(t, iwarp.Config{}, sctp.Config{Draft: true}, nil)
			defer r.over()
			e, other := r.session(0), r.session(1)
			r.peer.send(0, tt.ppid, !tt.ordered, fmt.Sprintf("%x", unhex(t, tt.bytes)))
			if err := e.ended(); !errors.Is(err, sctp.ErrViolation) {
				t.Errorf("got error %v, want %v", err, sctp.ErrViolation)
			}
			r.hears(0, 1, "00000001")
			other.receives()
			r.says(1, 1, send(1, "676f"))
			other.wantMessage("676f")
		})
	}
}

// A DATA chunk on a stream that does not exist is answered by ERROR and discarded. The association
// goes on (RFC 9260 section 6.5).
func TestOurNoStream(t *testing.T) {
	const chunkError = 9
	r := asked(t, iwarp.Config{}, sctp.Config{}, func(d datagram) []datagram {
		// The peer has four streams. Data that it sends on 3 is changed to 4.
		p, err := parsePacket(d.Payload)
		if err != nil || !d.FromClient {
			return []datagram{d}
		}
		edited := slices.Clone(d.Payload)
		at := 12
		for _, c := range p.Chunks {
			if c.Type == chunkData && c.Value[5] == 3 {
				edited[at+9] = 4
			}
			at += (4 + len(c.Value) + 3) &^ 3
		}
		binary.LittleEndian.PutUint32(edited[8:], 0)
		binary.LittleEndian.PutUint32(edited[8:], bitwiseCRC32c(edited))
		return []datagram{{true, edited}}
	})
	defer r.over()
	e := r.session(0)
	r.says(3, 17, "0000 0001")
	r.goOn(0, e)
	r.peer.acknowledged()
	errs := chunksOf(parseAll(t, r.relay.datagrams(), false), chunkError)
	if len(errs) == 0 {
		t.Fatal("there is no ERROR")
	}
	for _, c := range errs {
		if got := fmt.Sprintf("%x", c.Value); got != "0001000800040000" {
			t.Errorf("ERROR %s, want Invalid Stream Identifier 4", got)
		}
	}
}
