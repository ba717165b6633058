package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// registrations are the answer of an rpcbind.
type registrations struct {
	list []rpcbind.Mapping
	err  error
}

// rpcbindStep asks the server's rpcbind.
type rpcbindStep struct {
	*scene
	port int // of rpcbind
	look *portLook
}

// registered asks rpcbind over TCP for all registrations, or if that fails the port mapper of
// version 2.
func (p *rpcbindStep) registered(ctx context.Context) registrations {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	at := reach.Target{Host: p.at.Host, Port: p.port}
	conn, err := recordmark.Dial(ctx, at.Addr(), recordmark.Config{
		Logger: reach.Quiet, Wrap: reach.TraceOf(ctx).Dialed,
	})
	if err != nil {
		return registrations{err: err}
	}
	defer reach.End(conn)
	c := rpcbind.NewClient(conn)
	list, err := c.Dump(ctx)
	if err == nil || ctx.Err() != nil {
		return registrations{list, err}
	}
	ports, err := c.DumpPorts(ctx)
	netids := map[uint32]string{rpcbind.ProtoTCP: rpcbind.NetidTCP, rpcbind.ProtoUDP: "udp"}
	for _, m := range ports {
		list = append(list, rpcbind.Mapping{
			Program: m.Program, Version: m.Version, Netid: netids[m.Protocol],
			Addr: fmt.Sprintf("0.0.0.0.%d.%d", m.Port>>8, m.Port&0xff),
		})
	}
	return registrations{list, err}
}

// port returns the port of a version of a program over a netid; 0: none is registered.
func (r registrations) port(program, version uint32, netid string) int {
	for _, m := range r.list {
		same := m.Program == program && m.Version == version
		if same && strings.TrimSuffix(m.Netid, "6") == netid {
			if a, err := rpcbind.ParseUniversalAddr(m.Addr); err == nil {
				return int(a.Port())
			}
		}
	}
	return 0
}

// run reports rpcbind's registrations. It finds the port if the URL has ?rpcbind.
func (p *rpcbindStep) run(ctx context.Context) bool {
	at := reach.Target{Host: p.at.Host, Port: p.port}
	r := p.maps()
	switch {
	case r.err != nil:
		p.report.note(nil, "no rpcbind at port %s: %s", at.Addr(), words.EndReason(r.err))
	default:
		text, values := r.summary()
		f := Finding{Status: OK, Values: values,
			Found: "rpcbind at port " + at.Addr() + " has " + text}
		if len(values) == 0 {
			f.Status = Note
		}
		p.report.add(f)
	}
	if p.at.Rpcbind == 0 {
		return true
	}
	limited, cancel := p.limit(ctx)
	defer cancel()
	f := p.flags.Connections
	found, err := p.at.Found(limited, f.RDMA(),
		rpcrdma.Config{Logger: reach.Quiet, Dialect: f.Dialect.Value})
	if err != nil {
		found, do := "the port of NFS over "+strings.ToUpper(p.at.Scheme)+" is unknown",
			p.explain(p.at, err)
		if find := (*rpcbind.FindError)(nil); errors.As(err, &find) {
			found += ": " + find.Reasons()
			do = "write the port in the URL, such as " + p.at.WithPort() +
				"; or have the server register with rpcbind"
		}
		return p.report.fail(CauseNotRegistered, found, do)
	}
	p.at = found
	p.look.begin(ctx)
	return p.report.ok(map[string]any{"port": found.Port}, "NFS is at port %s", found.Addr())
}

// summary returns the registrations of NFS and MOUNT.
func (r registrations) summary() (string, map[string]any) {
	values := make(map[string]any)
	var words []string
	for _, program := range []struct {
		name     string
		number   uint32
		versions []uint32
	}{
		{"NFS", nfs3.Program, []uint32{2, 3, 4}},
		{"MOUNT", mount3.Program, []uint32{1, 2, 3}},
	} {
		for _, v := range program.versions {
			for _, netid := range []string{rpcbind.NetidTCP, "udp", rpcbind.NetidRDMA} {
				if port := r.port(program.number, v, netid); port != 0 {
					name := fmt.Sprintf("%s %d at %s %d", program.name, v, netid, port)
					words = append(words, name)
					values[fmt.Sprintf("%s.%d.%s", strings.ToLower(program.name), v, netid)] = port
				}
			}
		}
	}
	if len(words) == 0 {
		return "neither NFS nor MOUNT", values
	}
	return strings.Join(words, ", "), values
}
