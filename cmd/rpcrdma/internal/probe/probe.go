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

// Prober is a probe under way. Its steps run one after another, and leave for each other what they
// have found.
type Prober struct {
	Flags  *Flags
	server *remote.Server // how to connect
	report Report

	// Ports that are looked at beside that of the URL. Tests have others.
	Usual   []reach.Target // of NFS as a rule
	Rpcbind int
	Roce    int // in UDP

	at   reach.Target         // the URL, with the port as far as it is known
	seen func() []glance      // at the URL's port, and at the usual ones
	udp  func() []Finding     // RoCE
	maps func() registrations // rpcbind's

	loopback bool // so is the server's address

	setup mpaAnswer        // by the flags
	conn  oncrpc.Transport // to the server; nil: none
	root  *nfsmount.Root   // of the export to go on with
	// flavor is that of calls for it.
	flavor oncrpc.ClientFlavor
	info   nfs3.FSInfo // of root
	large  bool        // a large reply has come
}

// probeSteps are all steps, in order. One returns false if the server cannot be used as far as it
// has seen; then those behind it are skipped.
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

// NewProber returns one that has not looked yet. It reports to out.
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

// begun begins to do something, and returns what waits for its result.
func begun[T any](do func() T) func() T {
	wait := sync.OnceValue(do)
	go wait()
	return wait
}

// connect makes a connection, by the flags, whose first call is for others to make.
func (p *Prober) connect(ctx context.Context) (oncrpc.Transport, error) {
	return p.server.DialScheme(ctx, p.at)
}

// end ends the contexts, and the connection.
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

// client calls as the user of the flags, with the flavour of the export.
func (p *Prober) client() *nfsclient.Client { return nfsclient.New(p.conn, p.flavor) }

// explain says of an error of connecting to a target what to do.
func (p *Prober) explain(t reach.Target, err error) string {
	x := words.Explainer{Asked: p.server.Target.Rpcbind != 0,
		NoRPCBind: p.maps != nil && p.maps().err != nil}
	return x.Explain(t, err).Error()
}

// instead is the URL with another scheme and port.
func (p *Prober) instead(scheme string, port int) string {
	t := reach.Target{Scheme: scheme, Host: p.at.Host, Port: port, Path: p.at.Path}
	return strings.TrimSuffix(t.String(), "/")
}
