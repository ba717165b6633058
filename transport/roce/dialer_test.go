package roce

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAcquireOwn: which address this host is reached from, if other processes have the port at
// some.
func TestAcquireOwn(t *testing.T) {
	cfg, err := Config{Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ local, taken, want string }{
		{"192.0.2.1", "", "192.0.2.1"},
		{"192.0.2.1", "192.0.2.1", "127.0.0.1"},
		{"192.0.2.1", "192.0.2.1 127.0.0.1", "another"},
		{"127.0.0.1", "127.0.0.1", "another"},
	} {
		n := &network{open: func(a netip.Addr) (socket, int, error) {
			if slices.Contains(strings.Fields(tt.taken), a.String()) {
				return nil, 0, ErrPortTaken
			}
			return &wireSocket{w: newWire(), done: make(chan struct{})}, 1024, nil
		}}
		for range 2 { // and the same one later
			d, err := n.acquireOwn(netip.MustParseAddr(tt.local), cfg)
			if err != nil {
				t.Fatal(err)
			}
			got := d.local.Addr()
			if tt.want == "another" && got.IsLoopback() && got != usualLoopback {
				tt.want = got.String()
			}
			if got.String() != tt.want {
				t.Errorf("%+v: from %v", tt, got)
			}
			d.release()
			<-d.closed
		}
	}
}

// TestAcquireOwnTogether: dials at the same time agree on one loopback address, if another process
// has the port at the usual one.
func TestAcquireOwnTogether(t *testing.T) {
	usual := netip.MustParseAddr("127.0.0.1")
	cfg, err := Config{Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	n := &network{open: func(a netip.Addr) (socket, int, error) {
		time.Sleep(2 * time.Millisecond) // the other dials go on meanwhile
		if a == usual {
			return nil, 0, ErrPortTaken
		}
		return &wireSocket{w: newWire(), done: make(chan struct{})}, 1024, nil
	}}
	const dials = 8
	devices := make(chan *device, dials)
	for range dials {
		go func() {
			d, err := n.acquireOwn(usual, cfg)
			if err != nil {
				t.Error(err)
			}
			devices <- d
		}()
	}
	addrs := make(map[netip.Addr]bool)
	for range dials {
		if d := <-devices; d != nil {
			addrs[d.local.Addr()] = true
			defer d.release()
		}
	}
	if len(addrs) != 1 {
		t.Errorf("devices at %v", addrs)
	}
}
