//go:build interop

package sctp

import (
	"errors"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// When the peer ends the association, the endpoints on it end (RFC 5043 section 11.3).
func TestOurAssociationEnds(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run("draft="+strconv.FormatBool(draft), func(t *testing.T) {
			for _, tt := range []struct {
				command, down string
				want          error
			}{
				{"abort", "down lost -", io.ErrUnexpectedEOF},
				{"shutdown", "down shutdown -", transport.ErrClosedByPeer},
			} {
				t.Run(tt.command, func(t *testing.T) {
					inBothRoles(t, sctp.Config{Draft: draft}, func(r *rig, e *end) {
						all := []*end{e}
						if r.listen != nil {
							all = append(all, r.session(2))
						}
						r.peer.command(tt.command)
						for _, e := range all {
							err := e.ended()
							if !errors.Is(err, tt.want) {
								r.t.Errorf("got error %v, want %v", err, tt.want)
							}
							var aborted *sctp.AbortError
							if tt.command == "abort" && !errors.As(err, &aborted) {
								r.t.Errorf("got error %v, want a %T", err, aborted)
							}
							post := e.Post(&transport.WorkRequest{Op: transport.OpSend, Done: e,
								Local: memory([]byte("hi"))})
							if post == nil {
								r.t.Error("a Send is taken behind the end")
							}
						}
						r.peer.expect(tt.down)
					})
				})
			}
		})
	}
}

// A peer that restarts the association has lost its sessions. It can make new ones.
func TestOurPeerRestarts(t *testing.T) {
	r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{}, nil)
	a, b := r.session(0), r.session(3)
	r.peer.command("quit")
	hang.Receive(t, "the peer to quit", r.peer.ended)
	r.peer = connect(t, r.relay.port(), "-u", strconv.Itoa(r.peer.udp), "-n", "4", "-i", "1")
	defer r.over()
	r.peer.expect("up 4 4", "indication 00000001")
	for _, e := range []*end{a, b} {
		if err := e.ended(); !errors.Is(err, sctp.ErrRestarted) {
			t.Errorf("got error %v, want %v", err, sctp.ErrRestarted)
		}
	}
	r.goOn(0, r.session(0))
}

// A peer that has forgotten an association answers its packets by ABORT.
func TestOurPeerForgets(t *testing.T) {
	r := asks(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{})
	dial := r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0001")
	r.says(0, 17, "0000 0002")
	e := r.end(dial)
	r.peer.command("quit")
	hang.Receive(t, "the peer to quit", r.peer.ended)
	r.peer = listen(t, "-u", strconv.Itoa(r.peer.udp), "-n", "4", "-i", "1")
	defer r.over()
	e.send("6869")
	var aborted *sctp.AbortError
	if err := e.ended(); !errors.As(err, &aborted) {
		t.Errorf("got error %v, want a %T", err, aborted)
	}

	// The dialer makes another association.
	dial = r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0001")
	r.says(0, 17, "0000 0002")
	r.end(dial)
}

// A silent peer counts as gone, and gets an ABORT. There is no RDMAP Terminate (RFC 5043 section
// 11.3).
func TestOurPeerGone(t *testing.T) {
	inBothRoles(t, sctp.Config{KeepAlive: 20 * time.Millisecond}, func(r *rig, e *end) {
		r.peer.command("quit")
		if err := e.ended(); !errors.Is(err, sctp.ErrGone) {
			r.t.Errorf("got error %v, want %v", err, sctp.ErrGone)
		}
		e.Close()
		ours := func() []packet { return parseAll(r.t, r.relay.datagrams(), r.listen == nil) }
		for len(chunksOf(ours(), chunkAbort)) == 0 {
			time.Sleep(time.Millisecond)
		}
		for _, m := range dataOf(r.t, ours()) {
			if m.PPID != 17 {
				r.t.Errorf("%+v is sent", m)
			}
		}
	})
}
