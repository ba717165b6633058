package words

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TimedOut reports whether an error is a timeout.
func TimedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, roce.ErrPeerTimeout) || errors.As(err, &n) && n.Timeout()
}

// LinuxPort is the port of Linux's NFS server over TCP.
const LinuxPort = 2049

// Explainer explains why connecting to a server failed, and what to do.
type Explainer struct {
	Asked    bool // the URL has ?rpcbind
	Up       bool // the server has been connected to before
	RDMAOnly bool // the server cannot be reached over TCP instead

	NoRPCBind bool // no rpcbind answers

	Connected bool          // the failure came after connecting
	Waited    time.Duration // time waited for each answer; 0: leave it out
}

// Explain explains an error. t is the server, with the port if that was found.
func (x Explainer) Explain(t reach.Target, err error) error {
	text := x.unreached(t, err)
	if text == "" {
		text = x.unfit(t, err)
	}
	if text == "" {
		return err
	}
	return &ConnectError{text, err}
}

// unreached explains why there is no connection; "" if there was one.
func (x Explainer) unreached(t reach.Target, err error) string {
	var (
		dns  *net.DNSError
		call *os.SyscallError
		find *rpcbind.FindError
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %s", cli.Printable(t.Host))
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot look up host %s: %s; is the name right? An IP address needs no look-up",
			cli.Printable(t.Host), dns.Err)
	case errors.As(err, &find):
		return fmt.Sprintf("%s does not say at which port NFS over %s is: %s; write the port, such as %s",
			cli.Printable(t.Host), strings.ToUpper(t.Scheme),
			find.Reasons(), t.WithPort())
	case errors.Is(err, roce.ErrPortTaken):
		return fmt.Sprintf("RoCE needs UDP port %d of this host, which is taken: %s; reach a server of this host "+
			"at 127.0.0.1",
			roce.UDPPort, reach.PortTaken)
	case errors.Is(err, roce.ErrNoRoCE):
		return fmt.Sprintf("no RoCE at %s, where UDP port %d is closed: is it turned on there (rpcrdma serve "+
			"--provider iwarp,roce, rdma_rxe of Linux, an adapter)?", cli.Printable(t.Host), roce.UDPPort)
	case errors.Is(err, ConnRefused), errors.Is(err, roce.ErrRefused):
		return x.refused(t)
	case TimedOut(err) && x.Connected:
		return fmt.Sprintf("port %s takes connections, but does not answer the first call%s: does the server hang?",
			t.Addr(), x.waited())
	case t.Scheme == reach.SchemeRoCE && TimedOut(err):
		return fmt.Sprintf("no answer from %s over RoCE%s: is the host up, does it have RoCE (rpcrdma serve "+
			"--provider roce, rdma_rxe of Linux, an adapter), and does UDP port %d pass, without NAT?",
			t.Addr(), x.waited(), roce.UDPPort)
	case t.Scheme == reach.SchemeSCTP && TimedOut(err):
		return fmt.Sprintf("no answer from %s over SCTP%s: is the host up, does the server listen there, and does "+
			"UDP port %d pass?",
			t.Addr(), x.waited(), cmp.Or(t.UDP, sctp.DefaultUDPPort))
	case TimedOut(err) && t.Rpcbind != 0: // while connecting to rpcbind, or asking it
		return fmt.Sprintf("no answer from rpcbind at port %s%s: is the host up, is a firewall in between, or does "+
			"rpcbind hang? Or write the port, such as %s",
			t.Addr(), x.waited(), t.WithPort())
	case TimedOut(err) && !Dialling(err):
		return fmt.Sprintf("port %s takes connections, but does not answer%s: does the server hang, or is this the "+
			"port of another service?",
			t.Addr(), x.waited())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &call) && call.Timeout():
		return fmt.Sprintf("no answer from port %s%s: is the host up, is a firewall in between, or is the server "+
			"too busy to take connections?",
			t.Addr(), x.waited())
	case Dialling(err) && errors.Is(err, ConnReset):
		return fmt.Sprintf("port %s takes connections and ends them at once", t.Addr())
	case Dialling(err) && errors.As(err, &call):
		return fmt.Sprintf("cannot connect to port %s: %v; is the address right, and the network up?", t.Addr(),
			call.Err)
	}
	return ""
}

// waited says for how long.
func (x Explainer) waited() string {
	if x.Waited == 0 {
		return ""
	}
	return " for " + x.Waited.String()
}

// Dialling reports whether an error comes from making a TCP connection.
func Dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// refused explains that nothing listens at a port.
func (x Explainer) refused(t reach.Target) string {
	text := "nothing listens at port " + t.Addr()
	switch {
	case x.Up: // it has answered before, so it is the right port
		return text + " any more"
	case t.OverRDMA():
		if x.Asked {
			text += ", which rpcbind names for NFS over RDMA: is the server still running, and does it listen at " +
				"this address?"
		} else {
			text += ": is NFS over RDMA turned on at the server?"
			if !x.NoRPCBind {
				text += " The option ?rpcbind in the URL asks for its port."
			}
		}
		if !x.RDMAOnly {
			text += fmt.Sprintf(" Over TCP, try %s for rpcrdma serve, or %s for Linux",
				t.Over("tcp", reach.DefaultPorts["tcp"]), t.Over("tcp", LinuxPort))
		}
		return strings.TrimSuffix(text, ".")
	case t.Port != LinuxPort:
		return text + fmt.Sprintf(": try %s or, over RDMA, %s",
			t.Over("tcp", LinuxPort), t.Over("rdma", reach.DefaultPorts["rdma"]))
	}
	return text + ": is the NFS server running? rpcrdma serve is usually at " + t.Over("tcp", reach.DefaultPorts["tcp"])
}

// unfit explains why a connected server cannot be used.
func (x Explainer) unfit(t reach.Target, err error) string {
	at := "port " + t.Addr()
	var (
		accept  *oncrpc.AcceptError
		denied  *oncrpc.AuthError
		startup *mpa.StartupError
		reject  *transport.RejectError
		refused *mpa.RejectError
	)
	switch {
	case x.Up && (errors.Is(err, mpa.ErrNotMPA) || EndedByPeer(err)):
		return at + " takes connections and ends them at once"
	case errors.As(err, &reject), errors.As(err, &refused):
		return fmt.Sprintf("the server at %s rejects the connection: %v", at, err)
	case errors.Is(err, mpa.ErrNotMPA), errors.As(err, &startup) && EndedByPeer(err):
		text := at + " does not speak NFS over RDMA (iWARP)"
		switch {
		case !x.RDMAOnly:
			return text + "; if it speaks TCP, write " + t.Over("tcp", t.Port)
		case !x.Asked:
			return text + ": write the port that does, or ?rpcbind to find it"
		}
		return text + ": write the port that does, such as " + t.WithPort()
	case t.Scheme == "tcp" && EndedByPeer(err):
		return fmt.Sprintf("the server at %s ends the connection at the first call; if it speaks RDMA, write %s", at,
			t.Over("rdma", t.Port))
	case t.Scheme == "tcp" && !x.Up && errors.Is(err, recordmark.ErrRecordTooLong):
		text := at + " answers, but not in RPC: it belongs to another service"
		if !x.Asked && !x.NoRPCBind {
			text += "; write ?rpcbind in place of the port to find that of NFS"
		}
		return text
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgUnavail:
		text := at + " is not the port of NFS: it answers PROG_UNAVAIL"
		if t.Scheme == "tcp" && t.Port != LinuxPort {
			text += "; NFS is usually at " + t.Over("tcp", LinuxPort)
		}
		if !x.Asked && !x.NoRPCBind {
			text += "; write ?rpcbind in place of the port to find it"
		}
		return text
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgMismatch:
		return fmt.Sprintf("the server at %s has NFS versions %d to %d, but not 3", at, accept.Low, accept.High)
	case errors.As(err, &denied):
		return fmt.Sprintf("the server at %s denies calls with these credentials: %v", at, denied.Stat)
	}
	return ""
}
