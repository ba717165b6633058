package roce_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TestConfigErrors: values just out of range are refused, and those just within accepted.
func TestConfigErrors(t *testing.T) {
	hub := roce.NewHub(t)
	for _, tt := range []struct {
		name string
		set  func(*roce.Config)
		good bool
	}{
		{"zero", func(*roce.Config) {}, true},
		{"IRD 128", func(c *roce.Config) { c.IRD = 128 }, true},
		{"IRD 129", func(c *roce.Config) { c.IRD = 129 }, false},
		{"IRD -1", func(c *roce.Config) { c.IRD = -1 }, true},
		{"ORD 128", func(c *roce.Config) { c.ORD = 128 }, true},
		{"ORD 129", func(c *roce.Config) { c.ORD = 129 }, false},
		{"SendDepth 1", func(c *roce.Config) { c.SendDepth = 1 }, true},
		{"SendDepth -1", func(c *roce.Config) { c.SendDepth = -1 }, false},
		{"RecvDepth 1", func(c *roce.Config) { c.RecvDepth = 1 }, true},
		{"RecvDepth -1", func(c *roce.Config) { c.RecvDepth = -1 }, false},
		{"MTU 256", func(c *roce.Config) { c.MTU = 256 }, true},
		{"MTU 128", func(c *roce.Config) { c.MTU = 128 }, false},
		{"MTU 1500", func(c *roce.Config) { c.MTU = 1500 }, false},
		{"MTU 4096", func(c *roce.Config) { c.MTU = 4096 }, true},
		{"MTU 8192", func(c *roce.Config) { c.MTU = 8192 }, false},
		{"MTU -256", func(c *roce.Config) { c.MTU = -256 }, false},
		{"MaxConns 1", func(c *roce.Config) { c.MaxConns = 1 }, true},
		{"MaxConns -1", func(c *roce.Config) { c.MaxConns = -1 }, false},
		{"SetupTimeout -1", func(c *roce.Config) { c.SetupTimeout = -1 }, false},
		{"PeerTimeout -1", func(c *roce.Config) { c.PeerTimeout = -1 }, false},
		{"KeepAlive -1", func(c *roce.Config) { c.KeepAlive = -1 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := hub.On(server, roce.Config{Logger: quiet, SetupTimeout: time.Millisecond})
			tt.set(&cfg)
			l, err := roce.Listen(t.Context(), "192.0.2.1:0", cfg)
			if err == nil {
				l.Close()
			}
			if errors.Is(err, roce.ErrConfig) == tt.good {
				t.Errorf("Listen: %v", err)
			}
			_, err = roce.Dialer{Config: cfg}.Dial(t.Context(), "192.0.2.3:1", nil)
			if err == nil || errors.Is(err, roce.ErrConfig) == tt.good {
				t.Errorf("Dial: %v", err)
			}
		})
	}
}

// TestPortTaken has another socket bound to the port.
func TestPortTaken(t *testing.T) {
	ip, other := rocerig.Addr(t), rocerig.Addr(t)
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = roce.Listen(t.Context(), netip.AddrPortFrom(ip, 0).String(), roce.Config{})
	if !errors.Is(err, roce.ErrPortTaken) {
		t.Errorf("Listen: %v", err)
	}
	d := roce.Dialer{Config: roce.Config{Local: ip, Logger: quiet}}
	at := netip.AddrPortFrom(other, 1).String()
	if _, err := d.Dial(t.Context(), at, nil); !errors.Is(err, roce.ErrPortTaken) {
		t.Errorf("Dial: %v", err)
	}
}

// TestInUse has two Listeners for one service port.
func TestInUse(t *testing.T) {
	cfg, ip := roce.Config{Logger: quiet}, rocerig.Addr(t)
	l, err := roce.Listen(t.Context(), netip.AddrPortFrom(ip, 0).String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := roce.Listen(t.Context(), l.Addr().String(), cfg); !errors.Is(err, roce.ErrInUse) {
		t.Errorf("the second: %v", err)
	}
	l.Close()
	if l, err = roce.Listen(t.Context(), l.Addr().String(), cfg); err != nil {
		t.Fatal(err)
	}
	l.Close()
	portIsFree(t, ip)
}

// TestSystemPortClosed has the system report a closed port.
func TestSystemPortClosed(t *testing.T) {
	cfg := roce.Config{Local: rocerig.Addr(t), Logger: quiet}
	closed := netip.AddrPortFrom(rocerig.Addr(t), 1).String()
	if _, err := (roce.Dialer{Config: cfg}).Dial(t.Context(), closed, nil); !errors.Is(err,
		roce.ErrNoRoCE) {
		t.Error(err)
	}
	portIsFree(t, cfg.Local)
}

// TestLoopbackTaken: if the address that the system would send from is taken, another one is used,
// and the same one later, when the usual one is free.
func TestLoopbackTaken(t *testing.T) {
	usual := netip.MustParseAddr("127.0.0.1")
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(usual, roce.UDPPort)))
	if err == nil {
		defer c.Close() // if this fails, another process has it, which is as good
	}
	at := netip.AddrPortFrom(rocerig.Addr(t), 0).String()
	l, err := roce.Listen(t.Context(), at, roce.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := &rig{t: t, l: l}
	dial := func() netip.Addr {
		accepted := r.accept(nil)
		d := roce.Dialer{Config: roce.Config{Logger: quiet}}
		ep, err := d.Dial(t.Context(), l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ep.Close()
		wait(t, wait(t, accepted).Done())
		return ep.Info().LocalAddr.(roce.Addr).IP
	}
	from := dial()
	if from == usual || !from.IsLoopback() {
		t.Errorf("dialed from %v", from)
	}
	if c != nil {
		c.Close()
	}
	if got := dial(); got != from {
		t.Errorf("dialed from %v, and again from %v", from, got)
	}
}
