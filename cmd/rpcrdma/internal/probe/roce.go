package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// roceTime is how long a host may take to answer that the port is closed.
const roceTime = time.Second

// roceStep checks whether RoCE may be at the server.
type roceStep struct {
	*scene
	port int // of RoCE, in UDP
	look *portLook

	found func() []Finding // waits for the result
}

// begin begins to check, for an address of the server.
func (p *roceStep) begin(ctx context.Context, addr string) {
	p.found = begun(func() []Finding { return p.check(ctx, addr) })
}

// check checks whether the UDP port of RoCE seems open at the server, and whether it is free here.
func (p *roceStep) check(ctx context.Context, addr string) []Finding {
	found := []Finding{p.there(ctx, addr)}
	l, err := net.ListenUDP("udp", &net.UDPAddr{Port: p.port})
	if err == nil {
		l.Close()
		return found
	}
	return append(found, Finding{
		Status: Note, Cause: CauseRoCETaken,
		Found:  fmt.Sprintf("UDP port %d of this host is taken: %v", p.port, words.Bottom(err)),
		Do:     "this matters only for RoCE in user space on this host: " + reach.PortTaken,
		Values: map[string]any{"port": p.port},
	})
}

// there sends a byte to the server's port. RoCE does not answer it. A host without RoCE answers
// that the port is closed, unless a firewall drops that.
func (p *roceStep) there(ctx context.Context, addr string) Finding {
	at := net.JoinHostPort(addr, strconv.Itoa(p.port))
	values := map[string]any{"port": p.port, "open": "unknown"}
	cannot := func(err error) Finding {
		return Finding{Status: Note, Values: values,
			Found: fmt.Sprintf("probe cannot tell whether RoCE is at UDP port %s: %v", at,
				words.Bottom(err))}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", at)
	if err != nil {
		return cannot(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	conn.SetDeadline(time.Now().Add(min(roceTime, p.flags.Timeout.Duration)))
	if _, err = conn.Write([]byte{0}); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	switch {
	case errors.Is(err, words.ConnRefused), errors.Is(err, words.ConnReset):
		// Windows returns the latter
		values["open"] = "no"
		return Finding{Status: OK, Values: values,
			Found: "no RoCE: UDP port " + at + " is closed"}
	case err == nil:
		return Finding{Status: Note, Values: values,
			Found: "UDP port " + at + " answers, but not as RoCE does"}
	case words.TimedOut(err):
		return Finding{Status: Note, Values: values, Found: "RoCE may be at UDP port " + at +
			": it is open, or a firewall drops answers"}
	}
	return cannot(err)
}

// run reports the findings of check, unless the server speaks the protocol of the URL, which is not
// RoCE.
func (p *roceStep) run(context.Context) bool {
	if p.at.Scheme != reach.SchemeRoCE && p.look.seen()[0].speaksAsAsked() {
		return true
	}
	for _, f := range p.found() {
		p.report.add(f)
	}
	return true
}
