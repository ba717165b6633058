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
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// RPC over TLS (RFC 9289) begins with a call of procedure 0 with the flavour AUTH_TLS. The server
// answers STARTTLS, and a TLS session begins on the same connection.

// alpn is the application protocol that both ends name in the handshake (RFC 9289 section 7.2).
const alpn = "sunrpc"

// tlsTimeout limits how long the start of TLS takes.
const tlsTimeout = 10 * time.Second

// Reasons why TLS does not start.
var (
	// ErrNoTLS says that the server does not offer TLS (RFC 9289 section 4.1).
	ErrNoTLS = errors.New("the server does not offer TLS")

	errHasTLS   = errors.New("TLS has started already")
	errBusyTLS  = errors.New("calls are under way")
	errSpurious = errors.New("bytes between the request for TLS and the handshake")
	errNoReply  = errors.New("the server's answer is no reply to the request for TLS")
	errALPN     = errors.New(`the peer does not negotiate the application protocol "` + alpn + `"`)
)

// tlsConfig returns cfg with the restrictions of RFC 9289 section 5: TLS 1.3 with ALPN.
func tlsConfig(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS13)
	cfg.NextProtos = []string{alpn}
	return cfg
}

// handshake runs the TLS handshake.
func handshake(ctx context.Context, conn *tls.Conn) error {
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	if conn.ConnectionState().NegotiatedProtocol != alpn {
		return errALPN
	}
	return nil
}

// TLS returns the state of the TLS session, with the peer's certificates, and whether there is one.
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
	starting bool      // only the reply to the request for TLS is sent
}

// StartTLS starts TLS right after the reply to the call being dispatched. It implements
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

// secure starts TLS if the call dispatched last asked for it.
func (r *receiver) secure() error {
	c := r.conn
	c.mu.Lock()
	if !c.tls.starting {
		c.mu.Unlock()
		return nil
	}
	late := time.AfterFunc(tlsTimeout, func() { c.fail("read", errBusyTLS) })
	for c.responder.unserved > 0 && c.err == nil { // until this reply and all earlier ones are sent
		c.responder.flush()
		r.room.Wait()
	}
	c.mu.Unlock()
	late.Stop()
	if r.in.r.Buffered() > 0 {
		return errSpurious
	}
	r.readBy = time.Time{}
	c.conn.SetReadDeadline(r.readBy)
	cfg := tlsConfig(c.cfg.TLS)
	if cfg.ClientAuth == tls.NoClientCert { // RFC 9289 section 4.2: the server must ask
		cfg.ClientAuth = tls.VerifyClientCertIfGiven
	}
	conn, err := r.shakeHands(cfg)
	if err != nil {
		return err
	}
	state := conn.ConnectionState()
	c.cfg.faults.Event(c.RemoteAddr(), "rpc: TLS has begun", nil, "client", clientName(state))
	if d := c.responder.server.Load(); d != nil {
		as := d.As(principal(state))
		c.responder.server.Store(&as)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(conn)
	c.tls.starting = false
	c.sender.filled.Broadcast()
	return nil
}

// failTLS ends a connection on which TLS has not begun, unless it has ended before.
func (r *receiver) failTLS(err error) {
	c := r.conn
	if c.ctx.Err() == nil {
		atomic.AddUint64(&c.counters.stats.BadHandshakes, 1)
		kind := faultlog.OneOf(err, errSpurious, errLongHandshake, errALPN)
		c.cfg.faults.Fault(c.RemoteAddr(), "rpc: TLS has not begun, connection closed", kind,
			"err", err)
	}
	r.fail(err)
}

// shakeHands runs the server's TLS handshake. Peers of a Serve take turns.
func (r *receiver) shakeHands(cfg *tls.Config) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(r.conn.ctx, tlsTimeout)
	defer cancel()
	if r.handshakes == nil {
		conn := tls.Server(r.conn.conn, cfg)
		return conn, handshake(ctx, conn)
	}
	below := &tlsBelow{Conn: r.conn.conn, reader: &r.reader}
	below.handshake(r.conn, r.handshakes)
	defer below.over()
	conn := tls.Server(below, cfg)
	return conn, handshake(ctx, conn)
}

// clientName returns the client's name for the log, from its certificate.
func clientName(state tls.ConnectionState) string {
	switch {
	case len(state.PeerCertificates) == 0:
		return "anonymous"
	case len(state.VerifiedChains) == 0:
		return "not verified"
	}
	return principal(state)
}

// principal returns the subject of the peer's certificate, or "" if that is not verified.
func principal(state tls.ConnectionState) string {
	if len(state.VerifiedChains) == 0 {
		return ""
	}
	return state.PeerCertificates[0].Subject.String()
}

// begin makes both goroutines use TLS from now on. Neither is reading or writing.
func (c *Conn) begin(conn *tls.Conn) {
	c.tls.conn, c.sender.out.conn, c.receiver.src = conn, conn, conn
}

// RequestTLS starts TLS on a connection on which nothing has been sent. It asks the server with
// procedure 0 of a program that the server should have. Cfg says which certificates are accepted,
// as in package crypto/tls. If it has no ServerName, the peer's IP address is used. The protocol is
// always TLS 1.3 with the application protocol "sunrpc". RequestTLS fails after ten seconds, or
// when ctx ends.
//
// An error ends the connection. It wraps ErrNoTLS if the server does not offer TLS. An attacker on
// the way can fake that, so a client that needs TLS must not continue without it (RFC 9289 section
// 6.1.1).
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

// maxTLSReply limits the length in bytes of the reply to the request for TLS. The reply needs no
// results.
const maxTLSReply = 1 << 10

// askTLS asks the server for TLS. The accept_stat of the reply does not matter (RFC 9289 section
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
	// Nothing may follow the reply. The buffer is larger than the reply, so that surplus bytes
	// show.
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
