package rpcrdma

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

func TestComplaintsAloud(t *testing.T) {
	c, start := newComplaints(), time.Unix(1e9, 0)
	refused := complaint{host: "192.0.2.1", what: "message refused"}
	for i, tt := range []struct {
		k     complaint
		after time.Duration // since the start
		more  int
		aloud bool
	}{
		{refused, 0, 0, true},
		{refused, time.Second, 0, false},
		{complaint{host: "192.0.2.2", what: "message refused"}, time.Second, 0, true},
		{complaint{host: "192.0.2.1", what: "reply refused"}, time.Second, 0, true},
		{complaint{host: "192.0.2.1", what: "connection lost", reason: ErrStalled}, time.Second, 0, true},
		{complaint{host: "192.0.2.1", what: "connection lost", reason: ErrExceeded}, time.Second, 0, true},
		{refused, complaintPeriod - 1, 0, false},
		{refused, complaintPeriod, 2, true},
		{refused, 2*complaintPeriod - 1, 0, false},
		{refused, 5 * complaintPeriod, 1, true},
		{refused, 7 * complaintPeriod, 0, true},
	} {
		if more, aloud := c.aloud(tt.k, start.Add(tt.after)); more != tt.more || aloud != tt.aloud {
			t.Errorf("%d: aloud %v with %d more, want %v with %d", i, aloud, more, tt.aloud, tt.more)
		}
	}
}

// TestComplaintsBounded has more hosts be at fault than are told apart: the first of the rest is logged, and all others count for that. Those that
// have been quiet for long enough make room.
func TestComplaintsBounded(t *testing.T) {
	c, now := newComplaints(), time.Unix(1e9, 0)
	host := func(i int) complaint { return complaint{host: fmt.Sprint(i), what: "message refused"} }
	loud := 0
	for i := range 3 * maxComplaints {
		if _, aloud := c.aloud(host(i), now); aloud {
			loud++
		}
	}
	if loud != maxComplaints+1 || len(c.known) != maxComplaints {
		t.Errorf("%d hosts aloud, %d kept, want %d and %d", loud, len(c.known), maxComplaints+1, maxComplaints)
	}
	if more, aloud := c.aloud(host(3*maxComplaints), now.Add(complaintPeriod)); !aloud || more != 0 || len(c.known) != 1 {
		t.Errorf("later: aloud %v with %d more, %d kept, want it aloud with none, and one kept", aloud, more, len(c.known))
	}
}

func TestHostOf(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}, "192.0.2.1"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 7, Zone: "eth0"}, "fe80::1%eth0"},
		{&net.UnixAddr{Name: "client#1", Net: "loopback"}, "client#1"},
	} {
		if got := hostOf(tt.addr); got != tt.want {
			t.Errorf("hostOf(%v) = %q, want %q", tt.addr, got, tt.want)
		}
	}
}

// TestComplaintLines checks what the log says, and that a connection lost for one reason does not hide one lost for another.
func TestComplaintLines(t *testing.T) {
	logger, lines := logTo()
	peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}
	c := &Conn{cfg: Config{Logger: logger}, info: transport.Info{RemoteAddr: peer}, ctx: t.Context(), complaints: newComplaints()}
	lost := func(reason error, want ...string) {
		t.Helper()
		c.complainOfLoss(fmt.Errorf("it ended: %w", reason))
		lines.wantLine(t, append(want, "rpcrdma: connection lost", "peer=192.0.2.1:7", reason.Error())...)
	}
	lost(ErrStalled, "level=WARN")
	lost(ErrExceeded, "level=WARN")
	lost(transport.ErrTerminated, "level=WARN")
	lost(net.ErrClosed, "level=WARN")
	lost(ErrExceeded, "level=DEBUG")
	lost(ErrExceeded, "level=DEBUG")
	c.complaints.known[complaint{"192.0.2.1", "connection lost", ErrExceeded}].at = time.Now().Add(-complaintPeriod)
	lost(ErrExceeded, "level=WARN", "more=2")
	c.complain(&c.stats.malformed, "message refused", 9, ErrMalformed)
	lines.wantLine(t, "level=WARN", "rpcrdma: message refused", "peer=192.0.2.1:7", "xid=9", ErrMalformed.Error())
}

// TestComplaintsOfComers has one host come again and again, and be at fault each time: the log is told aloud once of each of its faults.
func TestComplaintsOfComers(t *testing.T) {
	logger, lines := logTo()
	r, dial := newWireRig(t, Config{Credits: 4, Logger: logger})
	for range 10 {
		p := dial()
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(77)(9))
		p.next()
		call := append(header(1, TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
		p.burst(call, call, call, call, call)
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, ErrExceeded) {
			t.Errorf("ended with %v, want ErrExceeded", err)
		}
	}
	seen, loud := map[string]int{}, map[string]int{}
	for seen["message refused"] < 10 || seen["connection lost"] < 10 {
		line := wait(t, lines)
		for _, what := range []string{"message refused", "connection lost"} {
			if strings.Contains(line, what) && strings.Contains(line, "peer=127.0.0.1:") {
				seen[what]++
				if strings.Contains(line, "level=WARN") {
					loud[what]++
				}
			}
		}
	}
	if loud["message refused"] != 1 || loud["connection lost"] != 1 {
		t.Errorf("aloud: %v, want each once", loud)
	}
}
