package paired

import (
	"runtime"
	"testing"
)

// TestTCPSockets: both ends set up their sockets as configured, or fail.
func TestTCPSockets(t *testing.T) {
	bad, good := Sockets{Congestion: "no such thing"}, Sockets{}
	if runtime.GOOS == "linux" {
		good.Congestion = "reno"
	}
	s, err := find(TCPPingPong)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen(t.Context(), bad); err == nil {
		t.Error("the server has listened with a congestion control that is not there")
	}
	server, err := s.Listen(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Dial(t.Context(), bad, server.Addr()); err == nil {
		t.Error("the client has dialed with a congestion control that is not there")
	}
	client, err := s.Dial(t.Context(), good, server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Run(3, nil); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
