package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// from is a connection from a host.
type from struct {
	net.Conn
	ip net.IP
}

func (c from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.ip} }

// TestRequestsOfHosts: a host may have half of the requests under way. Further ones of that host
// fail, and those of another are answered.
func TestRequestsOfHosts(t *testing.T) {
	l := newHTTPListener(nil, "--metrics", slog.New(slog.DiscardHandler))
	begun, goOn := make(chan bool, 2*maxRequests), make(chan struct{})
	h := l.share(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-goOn
		fmt.Fprint(w, "ok")
	}))
	answers := make(chan int, 2*maxRequests)
	ask := func(host byte) {
		conn := &httpConn{Conn: from{ip: net.IPv4(192, 0, 2, host)}}
		r := httptest.NewRequestWithContext(withHTTPConn(t.Context(), conn), "GET", "/", nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answers <- w.Code
	}
	for range maxRequests / 2 {
		go ask(1)
		hang.Receive(t, "a request", begun)
	}
	ask(1)
	if got := hang.Receive(t, "an answer", answers); got != http.StatusServiceUnavailable {
		t.Errorf("a host with too many: %d", got)
	}
	if n := l.refused.Load(); n != 1 {
		t.Errorf("%d refusals are counted", n)
	}
	go ask(2)
	hang.Receive(t, "a request", begun)
	close(goOn)
	for range maxRequests/2 + 1 {
		if got := hang.Receive(t, "an answer", answers); got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
}
