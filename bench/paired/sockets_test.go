package paired

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestCongestion(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := listenTCP(t.Context(), Sockets{Congestion: "reno"}, func(net.Conn) error { return nil })
		if !errors.Is(err, host.ErrCongestion) {
			t.Errorf("got error %v, want %v", err, host.ErrCongestion)
		}
		return
	}
	_, err := listenTCP(t.Context(), Sockets{Congestion: "no such thing"}, func(net.Conn) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `congestion control "no such thing"`) {
		t.Errorf("got error %v, want it to name what is missing", err)
	}

	s := Sockets{Congestion: "reno"}
	accepted := make(chan string, 1)
	server, err := listenTCP(t.Context(), s, func(c net.Conn) error {
		accepted <- congestion(t, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialTCP(t.Context(), s, server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, want := congestion(t, c), "reno"; got != want {
		t.Errorf("dialing: got %q, want %q", got, want)
	}
	if got, want := <-accepted, "reno"; got != want {
		t.Errorf("accepting: got %q, want %q", got, want)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
