package iwarp_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestDialUnprepared: a Dial that fails to prepare makes no connection. One that is closed without
// a byte kills the port of Linux's siw.
func TestDialUnprepared(t *testing.T) {
	unprepared := errors.New("not prepared")
	fails := func(transport.Endpoint) ([]byte, error) { return nil, unprepared }
	for want, prepare := range map[error]transport.Preparation{
		unprepared:               fails,
		transport.ErrPrivateData: transport.Private(make([]byte, 509)),
	} {
		r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
		ep, err := iwarp.Dialer{Config: r.cfg}.Dial(t.Context(), r.peers.Addr().String(), prepare)
		if !errors.Is(err, want) || ep != nil {
			t.Errorf("Dial: got %v, %v, want %v", ep, err, want)
		}
		r.wantNoDial()
		r.wantCounters(map[string]int{})
	}
}

// TestDialPreparesOnce has a peer that makes Dial try again. The second attempt connects the
// endpoint that was prepared for the first.
func TestDialPreparesOnce(t *testing.T) {
	r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff})
	var prepared []transport.Endpoint
	dial := make(chan dialResult, 1)
	go func() {
		ep, err := iwarp.Dialer{Config: r.cfg}.Dial(t.Context(), r.peers.Addr().String(),
			func(ep transport.Endpoint) ([]byte, error) {
				prepared = append(prepared, ep)
				(&local{t: t, Endpoint: ep}).receives(1)
				return []byte("hello"), nil
			})
		dial <- dialResult{ep, err}
	}()
	p := acceptPeer(t, r.peers)
	p.readStartup()
	p.conn.Close()
	p = acceptPeer(t, r.peers)
	p.wantStartup(requestFrame(0x00, 1, "hello"))
	p.write(replyFrame(0x00, 1, "hello"))
	d := hang.Receive(t, "Dial", dial)
	if d.err != nil || len(prepared) != 1 || d.ep != prepared[0] {
		t.Fatalf("Dial: got %p, %v after preparations of %v", d.ep, d.err, prepared)
	}
	l := newLocal(t, d.ep).start()
	p.sendMessage("prepared")
	l.wantMessage("prepared")
	alive(p, l)
	r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
}
