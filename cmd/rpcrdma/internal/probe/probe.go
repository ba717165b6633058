package probe

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// Prober is a running probe. Its steps run one after another, and pass on what they find in its
// fields.
type Prober struct {
	Flags  *Flags
	server *remote.Server // how to connect
	report Report

	// Ports to look at besides that of the URL. Tests use others.
	Usual   []reach.Target // the usual ports of NFS
	Rpcbind int
	Roce    int // in UDP

	at   reach.Target         // the URL, with the port once it is known
	seen func() []glance      // waits for the look at the URL's port and the usual ones
	udp  func() []Finding     // RoCE
	maps func() registrations // waits for rpcbind's registrations

	loopback bool // the server's address is a loopback address

	setup mpaAnswer        // by the flags
	conn  oncrpc.Transport // to the server; nil: none
	root  *nfsmount.Root   // of the export for the steps after mount
	// flavor is the flavour of calls for that export.
	flavor oncrpc.ClientFlavor
	info   nfs3.FSInfo // of root
	large  bool        // a large reply has come
}

// probeSteps are all steps, in order. A step returns false if it finds that the server cannot be
// used; then the steps after it are skipped.
var probeSteps = []struct {
	name string
	run  func(*Prober, context.Context) bool
}{
	{"name", (*Prober).stepName},
	{"rpcbind", (*Prober).stepRPCBind},
	{"roce", (*Prober).stepRoCE},
	{"port", (*Prober).stepPort},
	{"mpa", (*Prober).stepMPA},
	{"call", (*Prober).stepCall},
	{"conf", (*Prober).stepConf},
	{"program", (*Prober).stepProgram},
	{"mount", (*Prober).stepMount},
	{"root", (*Prober).stepRoot},
	{"read", (*Prober).stepRead},
	{"mtu", (*Prober).stepMTU},
}

// NewProber returns a Prober for a URL, which reports to out.
func NewProber(flags *Flags, t reach.Target, out io.Writer) (*Prober, error) {
	cred, err := flags.Connections.Cred()
	if err != nil {
		return nil, err
	}
	p := &Prober{
		Flags:   flags,
		server:  &remote.Server{Flags: flags.Connections, Target: t, Cred: cred},
		report:  Report{URL: t.String(), json: flags.JSON, out: out},
		Rpcbind: rpcbind.Port,
		Roce:    roce.UDPPort,
		at:      t,
	}
	for _, usual := range []reach.Target{
		{Scheme: "rdma", Port: reach.DefaultPorts["rdma"]},
		{Scheme: "tcp", Port: words.LinuxPort},
		{Scheme: "tcp", Port: reach.DefaultPorts["tcp"]},
		{Scheme: reach.SchemeSCTP, Port: reach.DefaultPorts[reach.SchemeSCTP]},
	} {
		usual.Host = t.Host
		p.Usual = append(p.Usual, usual)
	}
	if t.Rpcbind != 0 {
		p.Rpcbind = t.Rpcbind
	}
	return p, nil
}

// Run goes through all steps.
func (p *Prober) Run(ctx context.Context) error {
	defer p.end(ctx)
	usable := true
	for _, step := range probeSteps {
		p.report.step = step.name
		if !usable {
			if (step.name != "mpa" || p.at.OverIWARP()) && (step.name != "conf" || p.at.OverRDMA()) {
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
func (p *Prober) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.Flags.Timeout.Duration)
}

// begun calls do in the background. The function that it returns waits for the result.
func begun[T any](do func() T) func() T {
	wait := sync.OnceValue(do)
	go wait()
	return wait
}

// connect makes a connection by the flags, without a call.
func (p *Prober) connect(ctx context.Context) (oncrpc.Transport, error) {
	return p.server.DialScheme(ctx, p.at)
}

// end destroys the contexts, and closes the connection.
func (p *Prober) end(ctx context.Context) {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reach.UnmountTime)
		defer cancel()
		p.server.Forget(ctx, p.conn)
		p.disconnect()
	}
}

// disconnect ends the connection.
func (p *Prober) disconnect() {
	if p.conn != nil {
		reach.End(p.conn)
		p.conn = nil
	}
}

// null calls NULL of NFS on a connection.
func (p *Prober) null(ctx context.Context, conn oncrpc.Transport) error {
	ctx, cancel := p.limit(ctx)
	defer cancel()
	return nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx)
}

// client returns a client with the flavour of the export.
func (p *Prober) client() *nfsclient.Client { return nfsclient.New(p.conn, p.flavor) }

// explain says what to do about an error of connecting to a target.
func (p *Prober) explain(t reach.Target, err error) string {
	x := words.Explainer{Asked: p.server.Target.Rpcbind != 0,
		NoRPCBind: p.maps != nil && p.maps().err != nil}
	return x.Explain(t, err).Error()
}

// instead returns the URL with another scheme and port.
func (p *Prober) instead(scheme string, port int) string {
	t := reach.Target{Scheme: scheme, Host: p.at.Host, Port: port, Path: p.at.Path}
	return strings.TrimSuffix(t.String(), "/")
}
