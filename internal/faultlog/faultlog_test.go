package faultlog

import (
	"bytes"
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
)

// newTestLog returns a Log, and a function that returns its lines without their times.
func newTestLog() (*Log, func() []string) {
	var text bytes.Buffer
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: untimed}))
	return New(log), func() []string { return strings.Split(strings.TrimSpace(text.String()), "\n") }
}

func tcp(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

var (
	errOne = errors.New("one")
	errTwo = errors.New("two")
)

// TestFault logs faults in sequence and checks the lines.
func TestFault(t *testing.T) {
	type step struct {
		after time.Duration // since the previous one
		peer  string
		msg   string
		kind  any
		want  string
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"once", []step{{0, "192.0.2.1:700", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:700 n=0`}}},
		{"again at once, from another port", []step{
			{0, "192.0.2.1:700", "refused", errOne, `level=WARN msg=refused peer=192.0.2.1:700 n=0`},
			{0, "192.0.2.1:701", "refused", errOne, `level=DEBUG msg=refused peer=192.0.2.1:701 n=1`},
			{0, "[::ffff:192.0.2.1]:702", "refused", errOne, `level=DEBUG msg=refused peer=192.0.2.1:702 n=2`},
		}},
		{"a minute later", []step{
			{0, "192.0.2.1:700", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:700 n=0`},
			{time.Second, "192.0.2.1:701", "refused", nil, `level=DEBUG msg=refused peer=192.0.2.1:701 n=1`},
			{59*time.Second - 1, "192.0.2.1:702", "refused", nil, `level=DEBUG msg=refused peer=192.0.2.1:702 n=2`},
			{1, "192.0.2.1:703", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:703 n=3 more=2`},
			{time.Minute - 1, "192.0.2.1:704", "refused", nil, `level=DEBUG msg=refused peer=192.0.2.1:704 n=4`},
			{3 * time.Minute, "192.0.2.1:705", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:705 n=5 more=1`},
			{time.Minute, "192.0.2.1:706", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:706 n=6`},
		}},
		{"another host, message or kind", []step{
			{0, "192.0.2.1:700", "refused", nil, `level=WARN msg=refused peer=192.0.2.1:700 n=0`},
			{0, "192.0.2.2:700", "refused", nil, `level=WARN msg=refused peer=192.0.2.2:700 n=1`},
			{0, "[2001:db8::1]:700", "refused", nil, `level=WARN msg=refused peer=[2001:db8::1]:700 n=2`},
			{0, "192.0.2.1:700", "lost", nil, `level=WARN msg=lost peer=192.0.2.1:700 n=3`},
			{0, "192.0.2.1:700", "refused", errOne, `level=WARN msg=refused peer=192.0.2.1:700 n=4`},
			{0, "192.0.2.1:700", "refused", errTwo, `level=WARN msg=refused peer=192.0.2.1:700 n=5`},
			{0, "192.0.2.1:700", "refused", "/export", `level=WARN msg=refused peer=192.0.2.1:700 n=6`},
			{0, "192.0.2.1:701", "refused", nil, `level=DEBUG msg=refused peer=192.0.2.1:701 n=7`},
			{0, "192.0.2.1:702", "refused", errTwo, `level=DEBUG msg=refused peer=192.0.2.1:702 n=8`},
			{0, "192.0.2.1:703", "refused", "/export", `level=DEBUG msg=refused peer=192.0.2.1:703 n=9`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, lines := newTestLog()
				var want []string
				for i, s := range tt.steps {
					time.Sleep(s.after)
					if got, want := l.Fault(tcp(s.peer), s.msg, s.kind, "n", i), strings.HasPrefix(s.want, "level=WARN"); got != want {
						t.Errorf("%d: aloud %t, want %t", i, got, want)
					}
					want = append(want, s.want)
				}
				if diff := cmp.Diff(want, lines()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Events are logged at level INFO, once a minute.
func TestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, lines := newTestLog()
		peer := tcp("192.0.2.1:700")
		l.Event(peer, "mounted", "/a", "n", 0)
		l.Event(peer, "mounted", "/b", "n", 1)
		l.Event(peer, "mounted", "/a", "n", 2)
		time.Sleep(period)
		l.Event(peer, "mounted", "/a", "n", 3)
		want := []string{
			"level=INFO msg=mounted peer=192.0.2.1:700 n=0",
			"level=INFO msg=mounted peer=192.0.2.1:700 n=1",
			"level=DEBUG msg=mounted peer=192.0.2.1:700 n=2",
			"level=INFO msg=mounted peer=192.0.2.1:700 n=3 more=1",
		}
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// Beyond maxFaults, the first further fault is logged, and all others count as the same. Faults
// that have been quiet for a while make room.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newTestLog()
		host := func(i int) net.Addr { return tcp(fmt.Sprintf("192.0.%d.%d:700", i/256, i%256)) }
		for i := range 3 * maxFaults {
			if got, want := l.Fault(host(i), "refused", nil), i <= maxFaults; got != want {
				t.Errorf("host %d: aloud %t, want %t", i, got, want)
			}
		}
		if len(l.known) != maxFaults {
			t.Errorf("%d are kept, want %d", len(l.known), maxFaults)
		}
		time.Sleep(period - 1)
		if l.Fault(host(3*maxFaults), "refused", nil) {
			t.Error("one more within the minute: aloud")
		}
		time.Sleep(time.Nanosecond)
		if !l.Fault(host(0), "refused", nil) {
			t.Error("one that was kept, a minute later: not aloud")
		}
		if !l.Fault(host(3*maxFaults), "refused", nil) {
			t.Error("a new one, a minute later: not aloud")
		}
		if len(l.known) != 2 {
			t.Errorf("%d are kept, want the new one and that which has come again", len(l.known))
		}
	})
}

func TestOneOf(t *testing.T) {
	reasons := []error{errOne, errTwo}
	for _, tt := range []struct {
		name string
		err  error
		want any
	}{
		{"none", errors.New("timeout"), nil},
		{"wrapped", fmt.Errorf("%w: 3", errTwo), errTwo},
		{"two", fmt.Errorf("%w: %w", errTwo, errOne), errOne},
	} {
		if got := OneOf(tt.err, reasons...); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
