package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// portStep reports what the ports speak.
type portStep struct {
	*scene
	look *portLook

	setup mpaAnswer // of the URL's port, for later steps
}

// run reports what listens at the port of the URL, and at the usual ports.
func (p *portStep) run(context.Context) bool {
	all := p.look.seen()
	here, others := all[0], all[1:]
	p.setup = here.mpa
	usable := p.judge(&here, others)
	values := make(map[string]any)
	var words []string
	for _, g := range others {
		place := g.at.Scheme + " " + strconv.Itoa(g.at.Port)
		values[place] = g.speaker()
		words = append(words, fmt.Sprintf("%s: %s", place, g.speaker()))
	}
	if len(others) > 0 {
		p.report.note(values, "other ports: %s", strings.Join(words, "; "))
	}
	if usable {
		p.warnMount(others)
	}
	return usable
}

// warnMount warns if Linux could not mount over RDMA because nothing comes back from the port where
// it asks MOUNT over TCP. Probe itself asks MOUNT over RDMA. If rpcbind names another port, Linux's
// server is there, and the usual port does not matter.
func (p *portStep) warnMount(others []glance) {
	elsewhere := p.maps().port(mount3.Program, mount3.Version, rpcbind.NetidTCP) != 0
	if !p.at.OverRDMA() || p.at.MountPort != 0 || elsewhere {
		return
	}
	for _, g := range others {
		if g.at.Scheme == "tcp" && g.at.Port != words.LinuxPort && g.speaker() == silent {
			p.report.add(Finding{Status: Warn, Cause: CauseFirewall,
				Found: fmt.Sprintf("port %s: no answer", g.at.Addr()),
				Do: fmt.Sprintf("Linux's mount asks MOUNT there, over TCP, and waits: let TCP port %d pass "+
					"the firewalls on the way and at the host", g.at.Port)})
		}
	}
}

// judge reports whether the port of the URL speaks the protocol of the URL.
func (p *portStep) judge(g *glance, others []glance) bool {
	at, is := g.at.Addr(), g.speaker()
	found := fmt.Sprintf("port %s: %s", at, is)
	if g.at.Scheme == reach.SchemeSCTP {
		found = fmt.Sprintf("port %s of SCTP, in UDP port %d: %s", at,
			cmp.Or(g.at.UDP, sctp.DefaultUDPPort), is)
	}
	switch {
	case errors.Is(g.roce, roce.ErrPortTaken):
		return p.report.fail(CauseRoCETaken, words.Bottom(g.roce).Error(), p.explain(g.at, g.roce))
	case g.at.Scheme == reach.SchemeRoCE && is == speaksOther:
		return p.report.fail(CauseFailed, "no connection: "+words.EndReason(g.roce), p.explain(g.at, g.roce))
	case (is == speaksIWARP || is == speaksRoCE) && g.at.OverRDMA():
		return p.report.ok(map[string]any{"speaks": is}, "%s", found)
	case is == speaksRPC && !g.at.OverRDMA():
		return p.judgeNull(found, g.rpc.nfs, g.rpc.other)
	case is == speaksIWARP:
		return p.report.fail(CauseSwapped, found+", not RPC over TCP",
			"the scheme of the URL is wrong for this port: write "+p.instead("rdma", g.at.Port))
	case is == speaksRPC:
		do := "the scheme of the URL is wrong for this port: write " + p.instead("tcp", g.at.Port)
		if there := p.elsewhere(g.at, others); there != "" {
			do += ", or for RDMA " + there
		}
		return p.report.fail(CauseSwapped, found+", not iWARP", do)
	case is == nobody:
		if there := p.elsewhere(g.at, others); there != "" {
			return p.report.fail(CauseWrongPort, found, "NFS is at "+there)
		}
		if p.nobodyAnywhere(others) {
			return p.report.fail(CauseRefused, found, "nothing listens at the usual ports of NFS, either: "+
				"start the server, or correct the host or the port in the URL")
		}
		return p.report.fail(CauseRefused, found, p.refused(g))
	case is == silent && g.at.Scheme == reach.SchemeRoCE && stopped(others):
		return p.report.fail(CauseNoAnswer, found+", and its TCP ports take connections and say nothing",
			"the server has stopped, or hangs: see its log, and restart it")
	case is == silent, is == unreachable && hostIsUp(others) != 0: // or a firewall says so
		return p.report.fail(CauseFirewall, found, p.behindFirewall(g, others))
	case is == unreachable:
		return p.report.fail(CauseUnreachable, found, p.explain(g.at, g.error()))
	case is == speaksNot:
		return p.report.fail(CauseNoAnswer, found,
			"the server has stopped, or hangs: see its log, and restart it")
	case is == endsAll:
		return p.report.fail(CauseEnds, found, "the server does not take connections from this "+
			"host (rpcrdma serve: --allow), or it is another service's port: see its log, and "+
			"write the port of NFS")
	}
	return p.report.fail(CauseWrongPort, found, "this is another service's port: write the port of NFS, "+
		"usually "+p.instead("rdma", reach.DefaultPorts["rdma"])+" or "+p.instead("tcp", words.LinuxPort))
}

// refused says what to do if nothing listens at a port.
func (p *portStep) refused(g *glance) string {
	switch g.at.Scheme {
	case reach.SchemeRoCE:
		if errors.Is(g.error(), roce.ErrNoRoCE) {
			return "there is no RoCE: is it turned on at the server (rpcrdma serve --provider iwarp,roce, " +
				"rdma_rxe of Linux, an adapter)?"
		}
		return "there is RoCE, but nobody listens at this port: is it that of NFS, and is " +
			"NFS over RDMA turned on at the server?"
	case reach.SchemeSCTP:
		return "is SCTP turned on at the server (rpcrdma serve --provider iwarp,sctp), and is this its " +
			"UDP port? Write another with ?udp=PORT in the URL"
	}
	return p.explain(g.at, g.error())
}

// behindFirewall says what to do if a port does not answer.
func (p *portStep) behindFirewall(g *glance, others []glance) string {
	port := hostIsUp(others)
	if port == 0 {
		return p.explain(g.at, g.error())
	}
	do := fmt.Sprintf("the host is up, since its TCP port %d answers: let port %d pass the firewalls "+
		"on the way and at the host", port, g.at.Port)
	if g.at.Scheme == reach.SchemeRoCE {
		do = fmt.Sprintf("the host is up, since its TCP port %d answers: does it have RoCE (rpcrdma serve "+
			"--provider roce, rdma_rxe of Linux, an adapter)? Let UDP port %d pass the firewalls on the "+
			"way and at the host; RoCE does not pass NAT", port, roce.UDPPort)
	}
	if there := p.elsewhere(g.at, others); there != "" {
		do += "; or use " + there
	}
	return do
}

// judgeNull reports the result of NULL of NFS. other is the result of rpcbind's NULL over the same
// connection.
func (p *portStep) judgeNull(found string, nfs, other error) bool {
	var (
		accept *oncrpc.AcceptError
		denied *oncrpc.AuthError
	)
	switch {
	case nfs == nil:
		return p.report.ok(map[string]any{"speaks": speaksRPC}, "%s, with NFS version 3", found)
	case words.TimedOut(nfs) && other == nil:
		return p.report.fail(CauseNoServer, found+"; rpcbind at this port answers, but NFS does not",
			"this seems to be a gateway whose server does not answer: see the gateway's log, and on the "+
				"gateway's host, probe the server that its --to names")
	case words.TimedOut(nfs):
		return p.report.fail(CauseNoAnswer, found+", but NULL of NFS gets no answer",
			"the server hangs, or a gateway cannot reach it: see its log, and restart it")
	case errors.As(nfs, &denied):
		return p.report.fail(authCause(denied), found+", which denies calls: "+denied.Stat.String(),
			wantsMore(p.at))
	case errors.As(nfs, &accept) && accept.Stat == oncrpc.ProgMismatch:
		return p.report.fail(CauseVersion, found, p.explain(p.at, nfs))
	case errors.As(nfs, &accept):
		return p.report.fail(CauseWrongPort, found, p.explain(p.at, nfs))
	}
	return p.report.fail(CauseFailed, found, p.explain(p.at, nfs))
}

// elsewhere returns where NFS is over the same transport, if the port of the URL is closed; "" if
// that is unknown.
func (p *portStep) elsewhere(t reach.Target, others []glance) string {
	netid := "tcp"
	if t.OverRDMA() {
		netid = rpcbind.NetidRDMA
	}
	if port := p.maps().port(nfs3.Program, nfs3.Version, netid); port != 0 && port != t.Port {
		return p.instead(t.Scheme, port) + ", as rpcbind says"
	}
	for _, g := range others {
		is := g.speaker()
		if t.OverRDMA() && is == speaksIWARP ||
			!t.OverRDMA() && is == speaksRPC && g.rpc.nfs == nil {
			return p.instead(g.at.Scheme, g.at.Port)
		}
	}
	return ""
}

// hostIsUp returns a TCP port of the host that answers, or 0.
func hostIsUp(others []glance) int {
	for _, g := range others {
		is := g.speaker()
		if is != silent && is != unreachable && !g.at.OverUDP() {
			return g.at.Port
		}
	}
	return 0
}

// stopped reports whether a TCP port of NFS takes connections and says nothing.
func stopped(others []glance) bool {
	return slices.ContainsFunc(others, func(g glance) bool { return g.speaker() == speaksNot })
}

// nobodyAnywhere reports whether nothing listens at the usual TCP ports, nor at that of rpcbind.
func (p *portStep) nobodyAnywhere(others []glance) bool {
	tcp := 0
	for _, g := range others {
		if g.at.OverUDP() {
			continue
		}
		if g.speaker() != nobody {
			return false
		}
		tcp++
	}
	return tcp > 0 && errors.Is(p.maps().err, words.ConnRefused)
}
