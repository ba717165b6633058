package probe

import (
	"context"
	"io"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// Prober is a probe of one server. Run takes all steps.
type Prober struct {
	Flags *Flags

	// Ports to look at besides that of the URL. Tests use others.
	Usual   []reach.Target // the usual ports of NFS
	Rpcbind int
	Roce    int // in UDP

	scene scene
}

// NewProber returns a Prober for a URL, which reports to out.
func NewProber(flags *Flags, t reach.Target, out io.Writer) (*Prober, error) {
	cred, err := flags.Connections.Cred()
	if err != nil {
		return nil, err
	}
	p := &Prober{
		Flags:   flags,
		Rpcbind: rpcbind.Port,
		Roce:    roce.UDPPort,
		scene: scene{
			flags:  flags,
			server: &remote.Server{Flags: flags.Connections, Target: t, Cred: cred},
			report: &Report{URL: t.String(), json: flags.JSON, out: out},
			at:     t,
		},
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

// step is one step of a probe.
type step struct {
	name string
	// run returns false if it finds that the server cannot be used. The steps after it are skipped
	// then.
	run func(context.Context) bool
}

// steps returns all steps, in order. A step has the scene or, once there is a connection, the
// caller, and the earlier steps whose results it needs.
func (p *Prober) steps(c *caller) []step {
	s := c.scene
	roce := &roceStep{scene: s, port: p.Roce}
	look := &portLook{scene: s, usual: p.Usual, roce: roce}
	roce.look = look
	rpcbind := &rpcbindStep{scene: s, port: p.Rpcbind, look: look}
	name := &nameStep{scene: s, rpcbind: rpcbind, roce: roce, look: look}
	port := &portStep{scene: s, look: look}
	root := &rootStep{caller: c}
	read := &readStep{caller: c, info: &root.info}
	return []step{
		{"name", name.run},
		{"rpcbind", rpcbind.run},
		{"roce", roce.run},
		{"port", port.run},
		{"mpa", (&mpaStep{scene: s, port: port}).run},
		{"call", (&callStep{caller: c}).run},
		{"conf", (&confStep{scene: s}).run},
		{"program", (&programStep{caller: c}).run},
		{"mount", (&mountStep{caller: c}).run},
		{"root", root.run},
		{"read", read.run},
		{"mtu", (&mtuStep{caller: c, port: port, read: read}).run},
	}
}

// Run takes all steps, and reports what they find.
func (p *Prober) Run(ctx context.Context) error {
	s := &p.scene
	c := &caller{scene: s}
	defer c.end(ctx)
	usable := true
	for _, step := range p.steps(c) {
		s.report.step = step.name
		if !usable {
			if (step.name != "mpa" || s.at.OverIWARP()) && (step.name != "conf" || s.at.OverRDMA()) {
				s.report.skip()
			}
			continue
		}
		usable = step.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.report.end()
}

// begun calls do in the background. The function that it returns waits for the result.
func begun[T any](do func() T) func() T {
	wait := sync.OnceValue(do)
	go wait()
	return wait
}
