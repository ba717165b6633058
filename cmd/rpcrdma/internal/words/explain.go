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

// TimedOut reports whether an error is that something took too long.
func TimedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, roce.ErrPeerTimeout) || errors.As(err, &n) && n.Timeout()
}

// LinuxPort is where Linux's NFS server is over TCP.
const LinuxPort = 2049

// Explainer says of errors of connecting to a server what to do next.
type Explainer struct {
	Asked    bool // the URL has ?rpcbind
	Up       bool // the server has been connected to before
	RDMAOnly bool // the server cannot be reached over TCP instead

	NoRPCBind bool // there is none to ask

	Connected bool          // it has failed after that: there is a server of RPC or RDMA
	Waited    time.Duration // for each answer; 0: it is not said
}

// Explain explains an error. t is the server as far as it was found.
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

// unreached explains why there is no connection, if there is none.
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
		return fmt.Sprintf("cannot look up host %s: %s; is the name right? An IP address needs no look-up", cli.Printable(t.Host), dns.Err)
	case errors.As(err, &find):
		return fmt.Sprintf("nobody says at which port of %s NFS is over %s: %s; write the port, such as %s", cli.Printable(t.Host), strings.ToUpper(t.Scheme),
			find.Reasons(), t.WithPort())
	case errors.Is(err, roce.ErrPortTaken):
		return fmt.Sprintf("UDP port %d of this host is taken, which RoCE needs: %s; a server of this host is reached at 127.0.0.1",
			roce.UDPPort, reach.PortTaken)
	case errors.Is(err, roce.ErrNoRoCE):
		return fmt.Sprintf("no RoCE at %s, where UDP port %d is closed: is it turned on there (rpcrdma serve --provider "+
			"iwarp,roce, rdma_rxe of Linux, an adapter)?", cli.Printable(t.Host), roce.UDPPort)
	case errors.Is(err, ConnRefused), errors.Is(err, roce.ErrRefused):
		return x.refused(t)
	case TimedOut(err) && x.Connected:
		return fmt.Sprintf("port %s takes connections, and does not answer the first call%s: does the server hang?",
			t.Addr(), x.waited())
	case t.Scheme == reach.SchemeRoCE && TimedOut(err):
		return fmt.Sprintf("no answer from %s over RoCE%s: is the host up, has it RoCE (rpcrdma serve "+
			"--provider roce, rdma_rxe of Linux, an adapter), and does UDP port %d pass, without NAT?",
			t.Addr(), x.waited(), roce.UDPPort)
	case t.Scheme == reach.SchemeSCTP && TimedOut(err):
		return fmt.Sprintf("no answer from %s over SCTP%s: is the host up, does the server listen there, and does UDP port %d pass?",
			t.Addr(), x.waited(), cmp.Or(t.UDP, sctp.DefaultUDPPort))
	case TimedOut(err) && t.Rpcbind != 0: // be it that it connects, or that it asks
		return fmt.Sprintf("no answer from rpcbind at port %s%s: is the host up, is a firewall between, or does it hang? Or write the port, such as %s",
			t.Addr(), x.waited(), t.WithPort())
	case TimedOut(err) && !Dialling(err):
		return fmt.Sprintf("port %s takes connections, and does not answer%s: does the server hang, or is it one of something else?",
			t.Addr(), x.waited())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &call) && call.Timeout():
		return fmt.Sprintf("no answer from port %s%s: is the host up, is a firewall between, or is the server too busy to take connections?",
			t.Addr(), x.waited())
	case Dialling(err) && errors.Is(err, ConnReset):
		return fmt.Sprintf("port %s takes connections and ends them at once", t.Addr())
	case Dialling(err) && errors.As(err, &call):
		return fmt.Sprintf("cannot connect to port %s: %v; is the address right, and the network up?", t.Addr(), call.Err)
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

// Dialling reports whether an error is one of making a connection of TCP.
func Dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// refused explains a port at which nothing listens.
func (x Explainer) refused(t reach.Target) string {
	text := "nothing listens at port " + t.Addr()
	switch {
	case x.Up: // it is the right server: it has answered
		return text + " any more"
	case t.OverRDMA():
		if x.Asked {
			text += ", which was named for NFS over RDMA: is the server still running, and does it listen at this address?"
		} else {
			text += ": is NFS over RDMA turned on there?"
			if !x.NoRPCBind {
				text += " ?rpcbind in the URL asks for its port."
			}
		}
		if !x.RDMAOnly {
			text += fmt.Sprintf(" Over TCP, the usual ones are %s of rpcrdma serve and %s of Linux",
				t.Over("tcp", reach.DefaultPorts["tcp"]), t.Over("tcp", LinuxPort))
		}
		return strings.TrimSuffix(text, ".")
	case t.Port != LinuxPort:
		return text + fmt.Sprintf(": the usual ones are %s and, over RDMA, %s",
			t.Over("tcp", LinuxPort), t.Over("rdma", reach.DefaultPorts["rdma"]))
	}
	return text + ": is the NFS server running? One of this kind is at " + t.Over("tcp", reach.DefaultPorts["tcp"])
}

// unfit explains why a server that was connected to will not do.
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
		text := at + " is not one of NFS over RDMA (iWARP)"
		switch {
		case !x.RDMAOnly:
			return text + "; if it is one of TCP: " + t.Over("tcp", t.Port)
		case !x.Asked:
			return text + ": write the one that is, or ?rpcbind to have it found"
		}
		return text + ": write the one that is, such as " + t.WithPort()
	case t.Scheme == "tcp" && EndedByPeer(err):
		return fmt.Sprintf("the server at %s ends the connection at the first call; if it is one of RDMA: %s", at, t.Over("rdma", t.Port))
	case t.Scheme == "tcp" && !x.Up && errors.Is(err, recordmark.ErrRecordTooLong):
		text := at + " answers, but not in RPC: it is one of something else"
		if !x.Asked && !x.NoRPCBind {
			text += "; ?rpcbind in place of the port asks for that of NFS"
		}
		return text
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgUnavail:
		text := at + " is not that of NFS: it answers PROG_UNAVAIL"
		if t.Scheme == "tcp" && t.Port != LinuxPort {
			text += "; NFS is as a rule at " + t.Over("tcp", LinuxPort)
		}
		if !x.Asked && !x.NoRPCBind {
			text += "; ?rpcbind in place of the port asks for it"
		}
		return text
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgMismatch:
		return fmt.Sprintf("the server at %s has NFS versions %d to %d, and not 3", at, accept.Low, accept.High)
	case errors.As(err, &denied):
		return fmt.Sprintf("the server at %s denies calls with these credentials: %v", at, denied.Stat)
	}
	return ""
}
