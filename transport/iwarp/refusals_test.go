package iwarp

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// lines returns what has been logged, each line from its "peer" on.
func (b *logbook) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for line := range strings.Lines(b.text.String()) {
		_, line, _ = strings.Cut(line, "peer=")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func newTestRefusals() (*refusals, *logbook) {
	log := new(logbook)
	return newRefusals(slog.New(slog.NewTextHandler(log, nil)), refusalHold), log
}

func tcpAddr(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

// TestRefusalsLogged has refusals in an order, and what becomes of each.
func TestRefusalsLogged(t *testing.T) {
	timeout := errors.New("timeout")
	for _, tt := range []struct {
		name  string
		steps []refused
		want  []string
	}{
		{"once", []refused{{0, "192.0.2.1:700", mpa.ErrNotMPA, false}},
			[]string{`192.0.2.1:700 err="peer does not speak MPA"`}},
		{"again at once, from another port", []refused{
			{0, "192.0.2.1:700", mpa.ErrNotMPA, false},
			{0, "192.0.2.1:701", mpa.ErrNotMPA, true},
			{time.Second, "[::ffff:192.0.2.1]:702", mpa.ErrNotMPA, true},
		}, []string{`192.0.2.1:700 err="peer does not speak MPA"`}},
		{"a minute later", []refused{
			{0, "192.0.2.1:700", mpa.ErrNotMPA, false},
			{40 * time.Second, "192.0.2.1:701", mpa.ErrNotMPA, true},
			{20*time.Second - 1, "192.0.2.1:702", mpa.ErrNotMPA, true},
			{1, "192.0.2.1:703", mpa.ErrNotMPA, true},
			{1, "192.0.2.1:704", mpa.ErrNotMPA, true},
			{time.Minute - 1, "192.0.2.1:705", mpa.ErrNotMPA, true},
		}, []string{
			`192.0.2.1:700 err="peer does not speak MPA"`,
			`192.0.2.1:703 err="peer does not speak MPA" more=2`,
			`192.0.2.1:705 err="peer does not speak MPA" more=1`,
		}},
		{"after silence", []refused{
			{0, "192.0.2.1:700", timeout, false},
			{time.Minute, "192.0.2.1:701", timeout, false},
		}, []string{"192.0.2.1:700 err=timeout", "192.0.2.1:701 err=timeout"}},
		{"another host, and reason", []refused{
			{0, "192.0.2.1:700", mpa.ErrNotMPA, false},
			{0, "192.0.2.2:700", mpa.ErrNotMPA, false},
			{0, "[2001:db8::1]:700", mpa.ErrNotMPA, false},
			{0, "192.0.2.1:701", fmt.Errorf("%w: %w: 3", mpa.ErrFrame, mpa.ErrRevision), false},
			{0, "192.0.2.1:702", fmt.Errorf("%w: %w: 4", mpa.ErrFrame, mpa.ErrRevision), true},
			{0, "192.0.2.1:703", timeout, false},
			{0, "192.0.2.1:704", fmt.Errorf("%w: cut short", mpa.ErrFrame), false},
			{0, "192.0.2.1:705", fmt.Errorf("%w: %w", mpa.ErrFrame, mpa.ErrNotMPA), true},
		}, []string{
			`192.0.2.1:700 err="peer does not speak MPA"`,
			`192.0.2.2:700 err="peer does not speak MPA"`,
			`[2001:db8::1]:700 err="peer does not speak MPA"`,
			`192.0.2.1:701 err="bad startup frame: unusable MPA revision: 3"`,
			"192.0.2.1:703 err=timeout",
			`192.0.2.1:704 err="bad startup frame: cut short"`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, log := newTestRefusals()
				for i, s := range tt.steps {
					time.Sleep(s.after)
					if got := r.warn("no connection", tcpAddr(s.peer), s.err); got != s.again {
						t.Errorf("refusal %d: got again %t, want %t", i, got, s.again)
					}
				}
				if diff := cmp.Diff(tt.want, log.lines()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// refused is a refusal in TestRefusalsLogged.
type refused struct {
	after time.Duration // since the one before
	peer  string
	err   error
	again bool // the like of it has been there
}

// TestRefusalsOfMany has more hosts than are told apart: all that are too many share a line. Those that have gone make room.
func TestRefusalsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := newTestRefusals()
		host := func(i int) net.Addr { return tcpAddr(fmt.Sprintf("192.0.%d.%d:700", i/256, i%256)) }
		want := func(what string, n int, last string) {
			t.Helper()
			got := log.lines()
			if len(got) != n || !strings.HasPrefix(got[n-1], last) {
				t.Errorf("%s: %d lines, want %d; the last is %q, want %q", what, len(got), n, got[len(got)-1], last)
			}
			if len(r.known) > maxRefusals {
				t.Errorf("%s: %d hosts are kept", what, len(r.known))
			}
		}
		for i := range 2 * maxRefusals {
			r.warn("no connection", host(i), mpa.ErrNotMPA)
		}
		want("twice as many", maxRefusals+1, fmt.Sprint(host(maxRefusals)))
		time.Sleep(time.Minute - 1)
		r.warn("no connection", host(0), mpa.ErrNotMPA)
		want("within the minute", maxRefusals+1, "")
		time.Sleep(time.Nanosecond)
		r.warn("no connection", host(2*maxRefusals), mpa.ErrNotMPA)
		want("a new one", maxRefusals+2, fmt.Sprintf("%v err=%q", host(2*maxRefusals), mpa.ErrNotMPA))
		if len(r.known) != 2 {
			t.Errorf("%d hosts are kept, want the new one and that which has come again", len(r.known))
		}
		r.warn("no connection", host(0), mpa.ErrNotMPA)
		want("one that was kept", maxRefusals+3, fmt.Sprintf("%v err=%q more=1", host(0), mpa.ErrNotMPA))
	})
}

// rpcCall is a call of NFS's null procedure as Linux sends it over TCP.
var rpcCall = "\x80\x00\x00\x28" + "\x12\x34\x56\x78" + "\x00\x00\x00\x00" + "\x00\x00\x00\x02" + "\x00\x01\x86\xa3" + "\x00\x00\x00\x03" +
	strings.Repeat("\x00", 20)

// holding gives r a listener that keeps those that come again for so long.
func (r *rig) holding(d time.Duration) {
	r.t.Helper()
	r.listener.Close()
	l, err := newListener(listenTCP(r.t), r.cfg, d)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { l.Close() })
	r.listener = l
}

// sends has a peer that begins with these bytes.
func (r *rig) sends(bytes string) *peer {
	r.t.Helper()
	p := dialPeer(r.t, r.listener.Addr().String())
	p.conn.Write([]byte(bytes))
	return p
}

// TestHeld has a peer that comes again and again with RPC over TCP. It is kept waiting, within limits, and nobody else is.
func TestHeld(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	r.holding(time.Hour)
	check := r.bystander()
	r.sends(rpcCall).wantEnd()
	r.log.want(t, 1, "no connection", "it speaks RPC over TCP: that is another port")
	for range 2 {
		r.sends(string(requestFrame(0x10, 3, clientServer))).wantEnd() // speaks MPA
	}

	var held []*peer
	for range maxHeld {
		held = append(held, r.sends(rpcCall))
	}
	until(t, "all are kept", func() bool { return len(r.listener.refusals.held) == maxHeld })
	r.sends(rpcCall).wantEnd() // one too many
	check()
	r.bystander()
	held[0].wantSilence()
	r.log.want(t, 2, "no connection")
	r.wantCounters(map[string]int{"Connections": 2, "HandshakeFailures": maxHeld + 4})

	r.listener.Close()
	for _, p := range held {
		p.wantEnd()
	}
	check()
}

// TestHeldForATime has such peers let go.
func TestHeldForATime(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	r.holding(time.Millisecond)
	for range 5 {
		r.sends(rpcCall).wantEnd()
	}
	until(t, "none is kept", func() bool { return len(r.listener.refusals.held) == 0 })
	r.log.want(t, 1, "no connection")
	r.wantCounters(map[string]int{"HandshakeFailures": 5})
}

// TestRejectedAgain has requests that are rejected, each at once and with the same reply; the log says so once.
func TestRejectedAgain(t *testing.T) {
	r := newRig(t, false, Config{CRC: CRCOff, ORD: 8, RequiredORD: 4})
	r.holding(time.Hour)
	for range 3 {
		p := r.sends(string(requestFrame(0x10, 2, "\x00\x03\x00\x02")))
		if _, err := r.request().Accept(t.Context(), nil); !errors.Is(err, mpa.ErrInsufficientIRD) {
			t.Errorf("Accept: got error %v, want %v", err, mpa.ErrInsufficientIRD)
		}
		p.wantStartup(replyFrame(0x30, 2, "\x00\x10\x00\x04"))
		p.wantFIN()
		p.conn.Close()
	}
	r.log.want(t, 1, "connection refused")
	r.wantCounters(map[string]int{"Rejected": 3})
}
