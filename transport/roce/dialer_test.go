package roce

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"
)

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
