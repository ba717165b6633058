package main

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// prober is a probe under way. Its steps run one after another, and leave for each other what they
// have found.
type prober struct {
	flags  *probeFlags
	server *remoteServer // how to connect
	report probeReport

	// Ports that are looked at beside that of the URL. Tests have others.
	usual   []target // of NFS as a rule
	rpcbind int
	roce    int // in UDP

	at   target               // the URL, with the port as far as it is known
	seen func() []glance      // at the URL's port, and at the usual ones
	udp  func() []finding     // RoCE
	maps func() registrations // rpcbind's

	loopback bool // so is the server's address

	setup mpaAnswer        // by the flags
	conn  oncrpc.Transport // to the server; nil: none
	root  *nfsmount.Root   // of the export to go on with
	info  nfs3.FSInfo      // of root
	large bool             // a large reply has come
}

// probeSteps are all steps, in order. One returns false if the server cannot be used as far as it
// has seen; then those behind it are skipped.
var probeSteps = []struct {
	name string
	run  func(*prober, context.Context) bool
}{
	{"name", (*prober).stepName},
	{"rpcbind", (*prober).stepRPCBind},
	{"roce", (*prober).stepRoCE},
	{"port", (*prober).stepPort},
	{"mpa", (*prober).stepMPA},
	{"call", (*prober).stepCall},
	{"conf", (*prober).stepConf},
	{"program", (*prober).stepProgram},
	{"mount", (*prober).stepMount},
	{"root", (*prober).stepRoot},
	{"read", (*prober).stepRead},
	{"mtu", (*prober).stepMTU},
}

func newProber(flags *probeFlags, t target, out io.Writer) (*prober, error) {
	cred, err := flags.connections.cred()
	if err != nil {
		return nil, err
	}
	p := &prober{
		flags:   flags,
		server:  &remoteServer{flags: flags.connections, target: t, cred: cred},
		report:  probeReport{URL: t.String(), json: flags.json, out: out},
		rpcbind: rpcbind.Port,
		roce:    roce.UDPPort,
		at:      t,
	}
	for _, usual := range []target{
		{scheme: "rdma", port: defaultPorts["rdma"]},
		{scheme: "tcp", port: linuxPort},
		{scheme: "tcp", port: defaultPorts["tcp"]},
		{scheme: schemeSCTP, port: defaultPorts[schemeSCTP]},
	} {
		usual.host = t.host
		p.usual = append(p.usual, usual)
	}
	if t.rpcbind != 0 {
		p.rpcbind = t.rpcbind
	}
	return p, nil
}

// run goes through all steps.
func (p *prober) run(ctx context.Context) error {
	defer p.disconnect()
	usable := true
	for _, step := range probeSteps {
		p.report.step = step.name
		if !usable {
			if (step.name != "mpa" || p.at.overIWARP()) && (step.name != "conf" || p.at.overRDMA()) {
				p.report.skip()
			}
			continue
		}
		usable = step.run(p, ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return p.report.end()
}

// limit bounds a part of a step.
func (p *prober) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.flags.timeout.Duration)
}

// begun begins to do something, and returns what waits for its result.
func begun[T any](do func() T) func() T {
	wait := sync.OnceValue(do)
	go wait()
	return wait
}

// connect makes a connection, by the flags, whose first call is for others to make.
func (p *prober) connect(ctx context.Context) (oncrpc.Transport, error) {
	return p.server.dialScheme(ctx, p.at)
}

// disconnect ends the connection.
func (p *prober) disconnect() {
	if p.conn != nil {
		end(p.conn)
		p.conn = nil
	}
}

// null calls NULL of NFS on a connection.
func (p *prober) null(ctx context.Context, conn oncrpc.Transport) error {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	return nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx)
}

// client calls as the user of the flags.
func (p *prober) client() *nfsclient.Client { return nfsclient.New(p.conn, p.server.cred) }

// explain says of an error of connecting to a target what to do.
func (p *prober) explain(t target, err error) string {
	x := explainer{asked: p.server.target.rpcbind != 0,
		noRPCBind: p.maps != nil && p.maps().err != nil}
	return x.explain(t, err).Error()
}

// instead is the URL with another scheme and port.
func (p *prober) instead(scheme string, port int) string {
	t := target{scheme: scheme, host: p.at.host, port: port, path: p.at.path}
	return strings.TrimSuffix(t.String(), "/")
}
