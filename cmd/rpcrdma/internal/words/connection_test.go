package words

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TestConnectionReason: the reason why a call got no answer, without the layers that wrapped it.
func TestConnectionReason(t *testing.T) {
	peer := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 20049}
	call := func(err error) error {
		return &fs.PathError{Op: "write", Path: "file", Err: &nfsclient.Error{Op: "WRITE", Err: &oncrpc.CallError{
			Program: nfs3.Program, Version: nfs3.Version, Procedure: uint32(nfs3.ProcWrite), Peer: peer, Err: err}}}
	}
	overRDMA := func(err error) error {
		return &rpcrdma.OpError{Op: "call", Peer: peer, Err: &transport.OpError{Op: "receive", Provider: "iwarp", Peer: peer, Err: err}}
	}
	overTCP := func(err error) error { return &recordmark.OpError{Op: "read", Peer: peer, Err: err} }
	nobody := &ConnectError{"nothing listens at port 127.0.0.1:20049 any more", ConnRefused}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"closed, over RDMA", call(overRDMA(transport.ErrClosedByPeer)), "the server has ended the connection"},
		{"closed, over TCP", call(overTCP(recordmark.ErrClosedByPeer)), "the server has ended the connection"},
		{"reset", call(overTCP(&net.OpError{Op: "read", Net: "tcp", Addr: peer, Err: ConnReset})), "the server has ended the connection"},
		{"broken", call(overRDMA(fmt.Errorf("%w: %w", net.ErrClosed, transport.ErrTooLong))),
			"the connection to the server has ended: message longer than the posted receive"},
		{"no acknowledgement", call(overRDMA(fmt.Errorf("%w: %w", net.ErrClosed, roce.ErrPeerTimeout))), "the server does not answer"},
		{"stalled", call(&redial.OpError{Op: "call", Peer: peer, Err: redial.ErrStalled}), "the server does not answer"},
		{"too late", call(&redial.OpError{Op: "call", Peer: peer, Err: context.DeadlineExceeded}), "the server does not answer"},
		{"not back", call(&redial.OpError{Op: "redial", Peer: peer,
			TriedFor: 61234 * time.Millisecond, Err: nobody}),
			"no connection to the server for 1m1s: nothing listens at port 127.0.0.1:20049 any more"},
		{"not back, tried once", call(&redial.OpError{Op: "redial", Peer: peer, Err: nobody}), "nothing listens at port 127.0.0.1:20049 any more"},
		{"again and again", call(&redial.OpError{Op: "call", Peer: peer,
			TriedFor: 1500 * time.Microsecond, Err: overRDMA(transport.ErrClosedByPeer)}),
			"no connection to the server for 2ms: the server has ended the connection"},
		{"not accepted, on another connection", call(&redial.OpError{
			Op: "redial", Peer: peer, TriedFor: time.Minute,
			Err: &ConnectError{"it is not that of NFS", &nfsclient.Error{Op: "NULL", Err: &oncrpc.CallError{Err: &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}}}}}),
			"no connection to the server for 1m0s: it is not that of NFS"},
		{"the first call not accepted", &ConnectError{"it is not that of NFS", &nfsclient.Error{Op: "NULL", Err: &oncrpc.CallError{
			Err: &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}}}}, "it is not that of NFS"},
		{"not accepted", call(&oncrpc.AcceptError{Stat: oncrpc.GarbageArgs}), "the server does not accept the call: " + oncrpc.GarbageArgs.String()},
		{"denied", call(&oncrpc.AuthError{Stat: oncrpc.AuthBadCred}), "the server does not accept the call: denied: " + oncrpc.AuthBadCred.String()},
		{"too weak", call(&oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}),
			"the server wants proof of who calls: use sec=krb5 in the URL, with Kerberos, or tls over TCP (AUTH_TOOWEAK)"},
		{"no ticket", call(&gss.OpError{Op: "create context", Err: &gss.StatusError{Major: gss.NoCred, Err: errors.New("there is no ticket: run kinit")}}),
			"no Kerberos context with the server: there is no ticket: run kinit"},
		{"refused by numbers", call(&gss.OpError{Op: "create context", Err: &gss.StatusError{Major: gss.Failure, Minor: 7}}),
			"no Kerberos context with the server: it answers GSS_S_FAILURE, minor status 7; its log says why"},
		{"no GSS at the server", call(&gss.OpError{Op: "create context", Err: &oncrpc.CallError{Err: &oncrpc.AuthError{Stat: oncrpc.AuthBadCred}}}),
			"the server takes no RPCSEC_GSS, which Kerberos needs (AUTH_BADCRED): write sec=sys in the URL to call without"},
		{"gone while a context was made", call(&gss.OpError{Op: "create context", Err: &oncrpc.CallError{Err: overRDMA(transport.ErrClosedByPeer)}}),
			"no Kerberos context with the server: the server has ended the connection"},
		{"no KDC", call(&gss.OpError{Op: "create context", Err: context.DeadlineExceeded}),
			"no Kerberos context with the server: it takes too long; does the realm's KDC answer?"},
		{"malformed", call(overRDMA(rpcrdma.ErrMalformed)), rpcrdma.ErrMalformed.Error()},
		{"a status", call(nfs3.ErrNoSpc), "no space left on the server"},
		{"of another program", overTCP(recordmark.ErrClosedByPeer), overTCP(recordmark.ErrClosedByPeer).Error()},
		{"no call", errors.New("anything"), "anything"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Reason(tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
