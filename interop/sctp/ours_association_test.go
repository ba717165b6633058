//go:build interop

package sctp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// indications says how our endpoint treats a peer's indication (RFC 5043 section 11.1,
// draft-stewart-rddp-sctp-01 section 7.1): it accepts only its own.
var indications = []struct {
	low  sctp.Config
	ours string // as we indicate it
	peer string // as the peer does; none: not at all
	good bool
}{
	{sctp.Config{}, "00000001", "none", false},
	{sctp.Config{}, "00000001", "00000001", true},
	{sctp.Config{}, "00000001", "00000002", false}, // ANY-OTHER, to RFC 5043
	{sctp.Config{}, "00000001", "00000000", false},
	{sctp.Config{}, "00000001", "fedcba98", false},
	{sctp.Config{Draft: true}, "00000002", "none", false},
	{sctp.Config{Draft: true}, "00000002", "00000001", false}, // DDP is common, and RDMA is not
	{sctp.Config{Draft: true}, "00000002", "00000002", true},
	{sctp.Config{Draft: true}, "00000002", "00000000", false},
	{sctp.Config{Draft: true}, "00000002", "fedcba98", false},
	{sctp.Config{Draft: true, Indication: sctp.DDP}, "00000001", "none", false},
	{sctp.Config{Draft: true, Indication: sctp.DDP}, "00000001", "00000001", true},
	{sctp.Config{Draft: true, Indication: sctp.DDP}, "00000001", "00000002", false},
	{sctp.Config{Draft: true, Indication: sctp.DDP}, "00000001", "00000000", false},
	{sctp.Config{Draft: true, Indication: sctp.DDP}, "00000001", "fedcba98", false},
}

// byIndication runs a test for each indication. It gets the peer's arguments.
func byIndication(t *testing.T, f func(t *testing.T, low sctp.Config, args []string, ours string,
	good bool)) {
	for _, tt := range indications {
		t.Run(fmt.Sprintf("draft=%t/%s/%s", tt.low.Draft, tt.ours, tt.peer), func(t *testing.T) {
			args := []string{"-n", "4"}
			if tt.peer != "none" {
				args = append(args, "-i", "0x"+tt.peer)
			}
			f(t, tt.low, args, tt.ours, tt.good)
		})
	}
}

// wantCounts checks how many associations were made, and refused for their indication.
func (r *rig) wantCounts(made, refused uint64) {
	r.t.Helper()
	c := r.low.Counters
	if m, i := c.Stats().Associations, c.Stats().Indications; m != made || i != refused {
		r.t.Errorf("%d associations are counted, and %d that were refused, want %d and %d",
			m, i, made, refused)
	}
}

// A listener answers an INIT with a wrong indication by ABORT.
func TestOurListenerIndication(t *testing.T) {
	byIndication(t, func(t *testing.T, low sctp.Config, args []string, ours string, good bool) {
		r := ourListener(t, iwarp.Config{}, low, nil)
		r.peer = connect(t, r.relay.port(), args...)
		defer r.over()
		if good {
			r.peer.expect("up 4 4", "indication "+ours)
			r.session(0)
			r.wantCounts(1, 0)
			return
		}
		line := r.peer.next()
		const refused = "down refused 0600" // ABORT, by User-Initiated Abort
		if len(line) < len(refused)+8 || line[:len(refused)] != refused ||
			line[len(refused)+4:len(refused)+8] != "000c" {
			t.Errorf("the peer says %q, want that it was refused by ABORT with cause 12", line)
		}
		r.wantCounts(0, 1)
		if n := len(chunksOf(parseAll(t, r.relay.datagrams(), false), chunkInitAck)); n > 0 {
			t.Errorf("there are %d INIT ACKs", n)
		}
	})
}

// A dialer answers an INIT ACK with a wrong indication by ABORT, and fails.
func TestOurDialerIndication(t *testing.T) {
	byIndication(t, func(t *testing.T, low sctp.Config, args []string, ours string, good bool) {
		r := ourDialer(t, iwarp.Config{}, low, args...)
		defer r.over()
		dial := r.dial("")
		if good {
			r.peer.expect("up 4 4", "indication "+ours)
			if low.Draft {
				r.end(dial)
				r.hears(0, 1, "c1 40 00000001 0000000000000000")
			} else {
				r.hears(0, 17, "0000 0005 0010 0010")
				r.says(0, 17, "0000 0006 0010 0010")
				r.end(dial)
			}
			r.wantCounts(1, 0)
			return
		}
		var wrong *sctp.IndicationError
		if err := r.refused(dial); !errors.As(err, &wrong) {
			t.Errorf("got error %v, want a %T", err, wrong)
		}
		r.wantCounts(0, 1)
		// Once the peer has answered what follows the ABORT, the ABORT has passed the relay.
		r.refused(r.dial(""))
		packets := parseAll(t, r.relay.datagrams(), true)
		if n := len(chunksOf(packets, chunkCookieEcho)); n != 0 {
			t.Errorf("there are %d COOKIE ECHOs", n)
		}
		aborts := chunksOf(packets, chunkAbort)
		if len(aborts) == 0 || aborts[0].Value[0] != 0 || aborts[0].Value[1] != 12 {
			t.Errorf("ABORTs %x, want one with cause 12", aborts)
		}
	})
}
