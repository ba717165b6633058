package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// linuxPort is where Linux's NFS server is over TCP.
const linuxPort = 2049

// connectError is a server that could not be reached, and what may be done about it.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.err }

// explain says of an error of connecting what to do next. t is the server as far as it was found.
func (s *remoteServer) explain(t target, err error) error {
	at := "port " + t.addr()
	var (
		dns     *net.DNSError
		accept  *oncrpc.AcceptError
		denied  *oncrpc.AuthError
		startup *mpa.StartupError
		reject  *transport.RejectError
		call    *os.SyscallError
		find    *rpcbind.FindError
	)
	over := func(scheme string, port int) string { return target{scheme: scheme, host: t.host, port: port}.base() }
	text := ""
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		text = fmt.Sprintf("there is no host %s", printable(t.host))
	case errors.As(err, &find):
		text = fmt.Sprintf("nobody says at which port of %s NFS is over %s: %s", printable(t.host), strings.ToUpper(t.scheme), find.Reasons())
	case s.notices.up && errors.Is(err, connRefused): // it is the right server: it has answered
		text = fmt.Sprintf("nothing listens at %s any more", at)
	case s.notices.up && (errors.Is(err, mpa.ErrNotMPA) || endedByPeer(err)):
		text = fmt.Sprintf("%s takes connections and ends them at once", at)
	case errors.Is(err, connRefused) && t.scheme == "rdma":
		text = fmt.Sprintf("nothing listens at %s: is NFS over RDMA turned on there? ?rpcbind in the URL finds other ports. Over TCP: %s for a server of this kind, %s for Linux's",
			at, over("tcp", defaultPorts["tcp"]), over("tcp", linuxPort))
	case errors.Is(err, connRefused) && t.port != linuxPort:
		text = fmt.Sprintf("nothing listens at %s: Linux's NFS server is at %s; over RDMA: %s", at, over("tcp", linuxPort), over("rdma", defaultPorts["rdma"]))
	case errors.Is(err, connRefused):
		text = fmt.Sprintf("nothing listens at %s: is the NFS server running? One of this kind is at %s", at, over("tcp", defaultPorts["tcp"]))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &call) && call.Timeout():
		text = fmt.Sprintf("no answer from %s: is the host up, and is a firewall between?", at)
	case errors.As(err, &reject):
		text = fmt.Sprintf("the server at %s rejects the connection: %v", at, err)
	case errors.Is(err, mpa.ErrNotMPA), errors.As(err, &startup) && endedByPeer(err):
		text = fmt.Sprintf("%s is not one of NFS over RDMA (iWARP); if it is one of TCP: %s", at, over("tcp", t.port))
	case t.scheme == "tcp" && endedByPeer(err):
		text = fmt.Sprintf("the server at %s ends the connection at the first call; if it is one of RDMA: %s", at, over("rdma", t.port))
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgUnavail:
		text = fmt.Sprintf("%s is not that of NFS: it answers PROG_UNAVAIL", at)
		if t.scheme == "tcp" && t.port != linuxPort {
			text += fmt.Sprintf("; Linux's NFS server is at %s", over("tcp", linuxPort))
		}
	case errors.As(err, &accept) && accept.Stat == oncrpc.ProgMismatch:
		text = fmt.Sprintf("the server at %s has NFS versions %d to %d, and not 3", at, accept.Low, accept.High)
	case errors.As(err, &denied):
		text = fmt.Sprintf("the server at %s denies calls with these credentials: %v", at, denied.Stat)
	default:
		return err
	}
	return &connectError{text, err}
}

// endedByPeer reports whether the other end has closed the connection, in order or not.
func endedByPeer(err error) bool {
	return errors.Is(err, recordmark.ErrClosedByPeer) || errors.Is(err, transport.ErrClosedByPeer) || errors.Is(err, connReset) ||
		errors.Is(err, errPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// explainMount says of an error of finding MOUNT what to do next.
func (s *remoteServer) explainMount(err error) error {
	var search *nfsmount.SearchError
	if errors.As(err, &search) && s.target.mountPort == 0 {
		return fmt.Errorf("%w; if it is elsewhere, add ?mountport=PORT to the URL", err)
	}
	return err
}
