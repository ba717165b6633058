package sctp

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestAnyAddress: a Listener with all addresses of the host answers from the address that was
// asked.
func TestAnyAddress(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for _, at := range []string{":0", "0.0.0.0:0"} {
		l, err := Listen(t.Context(), at, Config{UDPPort: -1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addr := l.Addr().(Addr)
		d, err := NewDialer(Config{UDPPort: int(addr.UDPPort), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(addr.String())
		if err != nil {
			t.Fatal(err)
		}
		hosts := []string{"127.0.0.1", "127.0.0.2"}
		if l.socket.conn.LocalAddr().(*net.UDPAddr).IP.To4() == nil && hasIPv6() {
			hosts = append(hosts, "::1")
		}
		for _, host := range hosts {
			conn, err := d.DialContext(t.Context(), "sctp", net.JoinHostPort(host, port))
			if err != nil {
				t.Fatalf("%s, %s: %v", at, host, err)
			}
			defer conn.Close()
			if err := conn.(*Conn).WriteFrame(&mpa.Frame{Revision: 1}); err != nil {
				t.Fatal(err)
			}
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer accepted.Close()
			if got := accepted.LocalAddr().(Addr); got.IP.String() != host {
				t.Errorf("%s, %s: the local address is %v", at, host, got)
			}
		}
	}
}

// TestReportLocal: a socket with all addresses of the host reports the one that a datagram came to.
func TestReportLocal(t *testing.T) {
	for network, hosts := range map[string][]string{
		"udp4": {"127.0.0.1", "127.0.0.2"},
		"udp6": {"::1"},
		"udp":  {"127.0.0.1", "127.0.0.2"}, // over IPv6, if there is that
	} {
		if network == "udp6" && !hasIPv6() {
			continue
		}
		lc := net.ListenConfig{Control: reportLocal}
		l, err := lc.ListenPacket(t.Context(), network, ":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for _, host := range hosts {
			_, port, err := net.SplitHostPort(l.LocalAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("udp", net.JoinHostPort(host, port))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := l.SetDeadline(time.Now().Add(hang.Patience)); err != nil {
				t.Fatal(err)
			}
			_, from, err := unbound{l.(*net.UDPConn)}.receive(make([]byte, 1))
			if err != nil || from.local.String() != host {
				t.Errorf("%s, sent to %s: reported %v, error %v", network, host, from.local, err)
			}
		}
	}
}

// hasIPv6 reports whether this machine has IPv6.
func hasIPv6() bool {
	conn, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
