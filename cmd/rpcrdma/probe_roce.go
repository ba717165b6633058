package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// roceTime is how long a host may take to say that it has no such port.
const roceTime = time.Second

// lookRoCE finds out whether the port of RoCE is open at the server, as far as that can be told,
// and whether it is free here.
func (p *prober) lookRoCE(ctx context.Context, addr string) []finding {
	found := []finding{p.roceThere(ctx, addr)}
	l, err := net.ListenUDP("udp", &net.UDPAddr{Port: p.roce})
	if err == nil {
		l.Close()
		return found
	}
	return append(found, finding{
		Status: probeNote, Cause: causeRoCETaken,
		Found:  fmt.Sprintf("UDP port %d of this host is taken: %v", p.roce, bottom(err)),
		Do:     "this matters only to RoCE in user space on this host: " + portTaken,
		Values: map[string]any{"port": p.roce},
	})
}

// roceThere sends a byte to the server's port. RoCE answers nothing to it; a host that has no such
// port says so, unless a firewall keeps that back.
func (p *prober) roceThere(ctx context.Context, addr string) finding {
	at := net.JoinHostPort(addr, strconv.Itoa(p.roce))
	values := map[string]any{"port": p.roce, "open": "unknown"}
	cannot := func(err error) finding {
		return finding{Status: probeNote, Values: values,
			Found: fmt.Sprintf("it cannot be told whether RoCE is at UDP port %s: %v", at,
				bottom(err))}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "udp", at)
	if err != nil {
		return cannot(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	conn.SetDeadline(time.Now().Add(min(roceTime, p.flags.timeout.Duration)))
	if _, err = conn.Write([]byte{0}); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	switch {
	case errors.Is(err, connRefused), errors.Is(err, connReset): // the latter is Windows's
		values["open"] = "no"
		return finding{Status: probeOK, Values: values,
			Found: "no RoCE: UDP port " + at + " is closed"}
	case err == nil:
		return finding{Status: probeNote, Values: values,
			Found: "UDP port " + at + " answers, and not as RoCE does"}
	case timedOut(err):
		return finding{Status: probeNote, Values: values, Found: "RoCE may be at UDP port " + at +
			": it is open, or a firewall keeps answers back"}
	}
	return cannot(err)
}

// meetRoCE connects, makes a call, and ends the connection in order.
func (p *prober) meetRoCE(ctx context.Context, t target) error {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	d, err := t.dialer(traceOf(ctx), p.flags.connections.rdma())
	if err != nil {
		return err
	}
	conn, err := rpcrdma.Dial(ctx, d, t.addr(), rpcrdma.Config{
		Logger: quiet, Dialect: p.flags.connections.dialect.value,
	})
	if err != nil {
		return err
	}
	defer end(conn)
	_ = p.null(ctx, conn) // what comes of that is for another step to say
	return nil
}

// stepRoCE says what was found.
func (p *prober) stepRoCE(context.Context) bool {
	for _, f := range p.udp() {
		p.report.add(f)
	}
	return true
}
