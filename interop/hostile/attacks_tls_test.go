package hostile_test

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// onTLS are attacks on what a server does for TLS, for the groups of users and for Prometheus.
var onTLS = []attack{
	{
		name: "ClientHellos", threat: "RFC 9289 6", conns: 20, flood: true,
		over: []way{byTLS}, only: "TCP has no handshake",
		raw: func(p *peer) {
			p.askForTLS()
			p.write(clientHello()...)
			p.read(1) // the server has signed
			p.reset()
		},
	},
	{
		name: "handshakes that stop", threat: "RFC 9289 6", conns: 60, memory: true,
		over: []way{byTLS}, only: "TCP has no handshake",
		raw: func(p *peer) {
			p.askForTLS()
			p.write(clientHello()...)
			p.stay()
		},
	},
	{
		name: "tiny TLS records", threat: "RFC 9289 6", conns: 10, flood: true,
		over: []way{byTLS}, only: "TCP has no records",
		raw: func(p *peer) {
			p.flooding(func(*tls.Config, *joined) func() {
				null := record(true, p.rpc(nfs3.ProcNull))
				return func() {
					for _, b := range null {
						p.write(b)
					}
				}
			})
		},
	},
	{
		name: "changes of TLS keys", threat: "RFC 8446 4.6.3", conns: 10, flood: true,
		over: []way{byTLS}, only: "TCP has no keys",
		raw: func(p *peer) {
			p.flooding(func(cfg *tls.Config, to *joined) func() {
				const appData, handshake = 23, 22
				s := newSealer(cfg)
				null := record(true, p.rpc(nfs3.ProcNull))
				return func() {
					for _, b := range null {
						for range 15 { // one more without data ends the connection
							to.Write(s.seal(handshake, 24, 0, 0, 1, 1))
							s.next()
						}
						to.Write(s.seal(appData, b))
					}
				}
			})
		},
	},
	{
		name: "users that nobody has", threat: "RFC 5531 14", conns: 10, flood: true,
		over: overRPC, options: []string{"--manage-gids"},
		stream: func(p *peer) {
			go io.Copy(io.Discard, p.in)
			p.flood(func() (b []byte) {
				for range 64 {
					b = append(b, record(true, p.asUser(1e6+rand.Uint32N(1e9), nfs3.ProcGetAttr,
						p.handle()))...)
				}
				return b
			})
		},
	},
	{
		name: "connections to metrics that idle", threat: "RFC 5042 6.4.1", conns: 200,
		over: []way{byHTTP}, memory: true, stream: (*peer).stay,
	},
	{
		name: "requests for metrics", threat: "RFC 5042 6.4.1", conns: 5, flood: true,
		over: []way{byHTTP},
		stream: func(p *peer) {
			go io.Copy(io.Discard, p.in)
			p.flood(func() []byte { return []byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n") })
		},
	},
}

// asUser returns an NFS call of a user by AUTH_SYS.
func (p *peer) asUser(uid uint32, proc nfs3.Proc, args []byte) []byte {
	p.xid++
	const authSys = 1
	b := be32(p.xid, 0, 2, nfs3.Program, nfs3.Version, uint32(proc),
		authSys, 20, 0, 0, uid, uid, 0, 0, 0)
	return append(b, args...)
}

// clientHello returns what a client of TLS says first.
var clientHello = sync.OnceValue(func() []byte {
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		tls.Client(client, clientTLS()).Handshake()
		client.Close()
	}()
	header := make([]byte, 5)
	io.ReadFull(server, header)
	hello := make([]byte, binary.BigEndian.Uint16(header[3:]))
	io.ReadFull(server, hello)
	return append(header, hello...)
})

// joined gathers what is written to a connection, as long as it is told to.
type joined struct {
	net.Conn
	gather bool
	b      []byte
}

func (j *joined) Write(p []byte) (int, error) {
	if !j.gather {
		return j.Conn.Write(p)
	}
	j.b = append(j.b, p...)
	return len(p), nil
}

// flooding starts TLS and calls what begin returns again and again, to write 64 KiB at a time. It
// reads nothing but the answers, which it drops.
func (p *peer) flooding(begin func(*tls.Config, *joined) func()) {
	p.askForTLS()
	if !p.ok() {
		return
	}
	to, cfg := &joined{Conn: p.conn}, clientTLS()
	cfg.KeyLogWriter = new(bytes.Buffer)
	conn := tls.Client(to, cfg)
	if p.err = conn.HandshakeContext(p.ctx); !p.ok() {
		return
	}
	go io.Copy(io.Discard, to.Conn)
	p.conn, p.in = conn, bufio.NewReader(conn)
	more := begin(cfg, to)
	to.gather = true
	for p.ok() {
		for to.b = to.b[:0]; len(to.b) < 64<<10 && p.ok(); {
			more()
		}
		_, p.err = to.Conn.Write(to.b)
	}
}

// sealer makes records of TLS 1.3 with AES-128-GCM and SHA-256 (RFC 8446 sections 5.2 and 7.3).
type sealer struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	number uint64
}

// newSealer returns the sealer of a client whose handshake has ended.
func newSealer(cfg *tls.Config) *sealer {
	_, rest, _ := strings.Cut(cfg.KeyLogWriter.(*bytes.Buffer).String(), "CLIENT_TRAFFIC_SECRET_0 ")
	secret, _ := hex.DecodeString(strings.Fields(rest)[1])
	s := new(sealer)
	s.use(secret)
	return s
}

func (s *sealer) use(secret []byte) {
	block, _ := aes.NewCipher(expand(secret, "key", 16))
	s.aead, _ = cipher.NewGCM(block)
	s.secret, s.iv, s.number = secret, expand(secret, "iv", 12), 0
}

// next changes the keys.
func (s *sealer) next() { s.use(expand(s.secret, "traffic upd", 32)) }

func expand(secret []byte, label string, n int) []byte {
	info := []byte{0, byte(n), byte(len("tls13 " + label))}
	b, _ := hkdf.Expand(sha256.New, secret, string(info)+"tls13 "+label+"\x00", n)
	return b
}

func (s *sealer) seal(kind byte, p ...byte) []byte {
	nonce := bytes.Clone(s.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^s.number)
	s.number++
	header := []byte{23, 3, 3, 0, byte(len(p) + 1 + s.aead.Overhead())}
	return s.aead.Seal(header, nonce, append(p, kind), header)
}
