package rpcbind_test

import (
	"context"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// conn is a connection, not of records, whose local address is at.
type conn struct {
	oncrpc.Transport
	at net.Addr
}

func (c *conn) LocalAddr() net.Addr  { return c.at }
func (c *conn) RemoteAddr() net.Addr { return c.at }

// tcpAddr parses the address of a connection.
func tcpAddr(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

// incoming is a call for Dispatcher.Dispatch.
type incoming struct {
	conn  *conn
	args  xdr.Decoder
	reply []byte
}

func (in *incoming) Message() *xdr.Decoder    { return &in.args }
func (in *incoming) Ready() bool              { return true }
func (in *incoming) Context() context.Context { return context.Background() }
func (in *incoming) Conn() oncrpc.Transport   { return in.conn }
func (in *incoming) Drop()                    {}

func (in *incoming) Reply(m xdr.Message) {
	in.reply = m.AppendTo(nil)
	m.Release()
}

// serverOf returns a server that offers mappings.
func serverOf(mappings ...rpcbind.Mapping) *oncrpc.Server {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(rpcbind.Programs(mappings)...)
	return s
}

// dispatch makes a call over a connection to at and returns the reply. No procedure blocks.
func dispatch(s *oncrpc.Server, at net.Addr, version, procedure uint32, args []byte) []byte {
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: 0x1badcafe, RPCVersion: 2, Program: 100000, Version: version, Procedure: procedure}
	h.Encode(&e)
	in := &incoming{conn: &conn{at: at}}
	in.args.Reset(append(e.Message().Inline, args...), nil)
	oncrpc.DispatcherOf(s).Dispatch(in)
	return in.reply
}

// The first bytes of replies.
const (
	success     = "1badcafe 00000001 00000000 00000000 00000000 00000000"
	procUnavail = "1badcafe 00000001 00000000 00000000 00000000 00000003"
	garbageArgs = "1badcafe 00000001 00000000 00000000 00000000 00000004"
	noVersion   = "1badcafe 00000001 00000000 00000000 00000000 00000002 00000002 00000004"
)

func bytesOf(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
