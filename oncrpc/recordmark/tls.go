package recordmark

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// RPC over TLS (RFC 9289): a call of procedure 0 with the flavour AUTH_TLS, which the server
// answers with STARTTLS, and then a TLS session on the same connection.

// alpn is the protocol that both ends name in the handshake (RFC 9289 section 7.2).
const alpn = "sunrpc"

// tlsTimeout bounds how long TLS takes to begin.
const tlsTimeout = 10 * time.Second

// Why there is no TLS.
var (
	// ErrNoTLS: the server does not offer TLS (RFC 9289 section 4.1).
	ErrNoTLS = errors.New("the server does not offer TLS")

	errHasTLS   = errors.New("there is TLS already")
	errBusyTLS  = errors.New("calls are under way")
	errSpurious = errors.New("bytes between the request for TLS and the handshake")
	errNoReply  = errors.New("what the server says is no reply to the request for TLS")
	errALPN     = errors.New(`the peer does not name "` + alpn + `" as the protocol on TLS`)
)

// tlsConfig returns a configuration as RFC 9289 section 5 restricts it: TLS 1.3, with ALPN.
func tlsConfig(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS13)
	cfg.NextProtos = []string{alpn}
	return cfg
}

// handshake sets up TLS.
func handshake(ctx context.Context, conn *tls.Conn) error {
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	if conn.ConnectionState().NegotiatedProtocol != alpn {
		return errALPN
	}
	return nil
}

// TLS describes the TLS session of the connection, with the peer's certificates, if there is one.
func (c *Conn) TLS() (state tls.ConnectionState, ok bool) {
	c.mu.Lock()
	conn := c.tls.conn
	c.mu.Unlock()
	if conn == nil {
		return state, false
	}
	return conn.ConnectionState(), true
}

// secrecy is the TLS of a connection; Conn.mu guards it.
type secrecy struct {
	conn     *tls.Conn // nil: none
	starting bool      // nothing is sent but the reply to who has asked for TLS
}

// StartTLS has TLS begin behind the reply to the call that is being dispatched:
// oncrpc.TLSStarter.
func (c *Conn) StartTLS() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cfg.TLS == nil:
		return ErrNoTLS
	case c.tls.conn != nil || c.tls.starting:
		return errHasTLS
	case len(c.caller.pending) > 0:
		return errBusyTLS
	}
	c.tls.starting = true
	return nil
}

// secure sets up TLS, if the call that was dispatched last asks for it.
func (r *receiver) secure() error {
	c := r.conn
	c.mu.Lock()
	if !c.tls.starting {
		c.mu.Unlock()
		return nil
	}
	late := time.AfterFunc(tlsTimeout, func() { c.fail("read", errBusyTLS) })
	defer late.Stop()
	for c.responder.unserved > 0 && c.err == nil { // until the reply has left, and all before it
		c.responder.flush()
		r.room.Wait()
	}
	c.mu.Unlock()
	if r.in.r.Buffered() > 0 {
		return errSpurious
	}
	r.readBy = time.Time{}
	c.conn.SetReadDeadline(r.readBy)
	cfg := tlsConfig(c.cfg.TLS)
	if cfg.ClientAuth == tls.NoClientCert { // RFC 9289 section 4.2: the server must ask
		cfg.ClientAuth = tls.VerifyClientCertIfGiven
	}
	conn := tls.Server(c.conn, cfg)
	ctx, cancel := context.WithTimeout(c.ctx, tlsTimeout)
	defer cancel()
	if err := handshake(ctx, conn); err != nil {
		return err
	}
	c.cfg.faults.Event(c.RemoteAddr(), "rpc: TLS has begun", nil, "client", clientName(conn))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(conn)
	c.tls.starting = false
	c.sender.filled.Broadcast()
	return nil
}

// clientName says for the log who the client is by its certificate.
func clientName(conn *tls.Conn) string {
	state := conn.ConnectionState()
	switch {
	case len(state.PeerCertificates) == 0:
		return "anonymous"
	case len(state.VerifiedChains) == 0:
		return "not verified"
	}
	return state.PeerCertificates[0].Subject.String()
}

// begin has what both goroutines write and read pass through TLS from now on. Neither is at it.
func (c *Conn) begin(conn *tls.Conn) {
	c.tls.conn, c.sender.out.conn, c.receiver.src = conn, conn, conn
}

// RequestTLS has TLS on the connection, which nothing has been sent on. The server is asked by
// procedure 0 of a program that it should have. Cfg says what certificates count, as for package
// crypto/tls; where it names no server, that is the peer's IP address. The protocol is TLS 1.3 with
// the application protocol "sunrpc", whatever cfg says. It takes no longer than the context, or ten
// seconds.
//
// An error ends the connection. It wraps ErrNoTLS if the server does not offer TLS, which somebody
// on the way may make believe: so who wants TLS does not go on without (RFC 9289 section 6.1.1).
func (c *Conn) RequestTLS(ctx context.Context, program, version uint32, cfg *tls.Config) error {
	conn, err := requestTLS(ctx, c.conn, program, version, cfg)
	if err != nil {
		err = c.opError("start TLS", err)
		c.fail("start TLS", err)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(conn)
	return nil
}

func requestTLS(ctx context.Context, raw net.Conn, program, version uint32, cfg *tls.Config) (
	*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	err := askTLS(raw, program, version)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if cfg = tlsConfig(cfg); cfg.ServerName == "" {
		cfg.ServerName = peerhost.Of(raw.RemoteAddr()).WithoutZone().String()
	}
	conn := tls.Client(raw, cfg)
	return conn, handshake(ctx, conn)
}

// maxTLSReply bounds the reply to who asks for TLS: results that are there for no reason are left
// out of account.
const maxTLSReply = 1 << 10

// askTLS asks the server for TLS. Its reply counts whatever the accept_stat is (RFC 9289 section
// 4.1).
func askTLS(conn net.Conn, program, version uint32) error {
	var e xdr.Encoder
	h := oncrpc.CallHeader{
		XID: rand.Uint32(), RPCVersion: oncrpc.Version, Program: program, Version: version,
		Cred: oncrpc.Auth{Flavor: oncrpc.FlavorTLS},
	}
	h.Encode(&e)
	call := e.Message().Inline
	p := binary.BigEndian.AppendUint32(nil, uint32(len(call))|lastFragment)
	if _, err := conn.Write(append(p, call...)); err != nil {
		return err
	}
	// Nothing may follow the reply, so whatever more is read is an error.
	in := newReader(conn, maxTLSReply)
	in.r = bufio.NewReaderSize(conn, maxTLSReply+markLen)
	rec, err := in.next()
	if err != nil {
		if err == io.EOF {
			err = ErrClosedByPeer
		}
		return fmt.Errorf("asking for TLS: %w", err)
	}
	defer rec.Release()
	if in.r.Buffered() > 0 {
		return errSpurious
	}
	var d xdr.Decoder
	d.Reset(rec.data, nil)
	xid, msg, stat := d.Uint32(), oncrpc.MsgType(d.Uint32()), d.Uint32()
	flavor, body := oncrpc.AuthFlavor(d.Uint32()), d.Opaque(oncrpc.MaxAuthBody)
	switch {
	case xid != h.XID || msg != oncrpc.MsgReply:
		return errNoReply
	case d.Err() != nil, stat != 0, // MSG_ACCEPTED
		flavor != oncrpc.FlavorNone, string(body) != "STARTTLS":
		return ErrNoTLS
	}
	return nil
}
