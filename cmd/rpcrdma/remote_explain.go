package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// linuxPort is where Linux's NFS server is over TCP.
const linuxPort = 2049

// explainer says of errors of connecting to a server what to do next.
type explainer struct {
	asked    bool // the URL has ?rpcbind
	up       bool // the server has been connected to before
	rdmaOnly bool // the server cannot be reached over TCP instead

	noRPCBind bool // there is none to ask
}

// explain explains an error. t is the server as far as it was found.
func (x explainer) explain(t target, err error) error {
	text := x.unreached(t, err)
	if text == "" {
		text = x.unfit(t, err)
	}
	if text == "" {
		return err
	}
	return &connectError{text, err}
}

// unreached explains why there is no connection, if there is none.
func (x explainer) unreached(t target, err error) string {
	var (
		dns  *net.DNSError
		call *os.SyscallError
		find *rpcbind.FindError
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %s", printable(t.host))
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot look up host %s: %s; is the name right? An IP address needs no look-up", printable(t.host), dns.Err)
	case errors.As(err, &find):
		return fmt.Sprintf("nobody says at which port of %s NFS is over %s: %s; write the port, such as %s", printable(t.host), strings.ToUpper(t.scheme),
			find.Reasons(), t.withPort())
	case errors.Is(err, roce.ErrPortTaken):
		return fmt.Sprintf("UDP port %d of this host is taken, which RoCE needs: %s; a server of this host is reached at 127.0.0.1",
			roce.UDPPort, portTaken)
	case errors.Is(err, roce.ErrNoRoCE):
		return fmt.Sprintf("no RoCE at %s, where UDP port %d is closed: is it turned on there (rpcrdma serve --provider "+
			"iwarp,roce, rdma_rxe of Linux, an adapter)?", printable(t.host), roce.UDPPort)
	case errors.Is(err, connRefused), errors.Is(err, roce.ErrRefused):
		return x.refused(t)
	case t.scheme == schemeRoCE && timedOut(err):
		return fmt.Sprintf("no answer from %s over RoCE: is the host up, has it RoCE (rpcrdma serve "+
			"--provider roce, rdma_rxe of Linux, an adapter), and does UDP port %d pass, without NAT?",
			t.addr(), roce.UDPPort)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &call) && call.Timeout():
		return fmt.Sprintf("no answer from port %s: is the host up, and is a firewall between?", t.addr())
	case dialling(err) && errors.Is(err, connReset):
		return fmt.Sprintf("port %s takes connections and ends them at once", t.addr())
	case dialling(err) && errors.As(err, &call):
		return fmt.Sprintf("cannot connect to port %s: %v; is the address right, and the network up?", t.addr(), call.Err)
	}
	return ""
}

// dialling reports whether an error is one of making a connection of TCP.
func dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// refused explains a port at which nothing listens.
func (x explainer) refused(t target) string {
	text := "nothing listens at port " + t.addr()
	switch {
	case x.up: // it is the right server: it has answered
		return text + " any more"
	case t.overRDMA():
		if x.asked {
			text += ", which was named for NFS over RDMA: is the server still running, and does it listen at this address?"
		} else {
			text += ": is NFS over RDMA turned on there?"
			if !x.noRPCBind {
				text += " ?rpcbind in the URL asks for its port."
			}
		}
		if !x.rdmaOnly {
			text += fmt.Sprintf(" Over TCP, the usual ones are %s of rpcrdma serve and %s of Linux",
				t.over("tcp", defaultPorts["tcp"]), t.over("tcp", linuxPort))
		}
		return strings.TrimSuffix(text, ".")
	case t.port != linuxPort:
		return text + fmt.Sprintf(": the usual ones are %s and, over RDMA, %s",
			t.over("tcp", linuxPort), t.over("rdma", defaultPorts["rdma"]))
	}
	return text + ": is the NFS server running? One of this kind is at " + t.over("tcp", defaultPorts["tcp"])
}

// unfit explains why a server that was connected to will not do.
func (x explainer) unfit(t target, err error) string {
	at := "port " + t.addr()
	var (
		accept  *oncrpc.AcceptError
		denied  *oncrpc.AuthError
		startup *mpa.StartupError
		reject  *transport.RejectError
		refused *mpa.RejectError
	)
	switch {
	case x.up && (errors.Is(err, mpa.ErrNotMPA) || endedByPeer(err)):
		return at + " takes connections and ends them at once"
	case errors.As(err, &reject), errors.As(err, &refused):
		return fmt.Sprintf("the server at %s rejects the connection: %v", at, err)
	case errors.Is(err, mpa.ErrNotMPA), errors.As(err, &startup) && endedByPeer(err):
		text := at + " is not one of NFS over RDMA (iWARP)"
		switch {
		case !x.rdmaOnly:
			return text + "; if it is one of TCP: " + t.over("tcp", t.port)
		case !x.asked:
			return text + ": write the one that is, or ?rpcbind to have it found"
		}
		return text + ": write the one that is, such as " + t.withPort()
	case t.scheme == "tcp" && endedByPeer(err):
		return fmt.Sprintf("the server at %s ends the connection at the first call; if it is one of RDMA: %s", at, t.over("rdma", t.port))
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgUnavail:
		text := at + " is not that of NFS: it answers PROG_UNAVAIL"
		if t.scheme == "tcp" && t.port != linuxPort {
			text += "; NFS is as a rule at " + t.over("tcp", linuxPort)
		}
		if !x.asked && !x.noRPCBind {
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

// over is the URL of a server on the same host.
func (t target) over(scheme string, port int) string {
	return target{scheme: scheme, host: t.host, port: port}.base()
}

// withPort is how the server is written with a port: the one that it has by default.
func (t target) withPort() string {
	t.port = 0
	return fmt.Sprintf("%s:%d", t.base(), defaultPorts[t.scheme])
}
