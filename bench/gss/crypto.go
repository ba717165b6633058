package gss

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// Crypto returns the Throughput scenario aes-sha/read-SIZExN. It does what AES and SHA do for READs
// of size bytes with krb5p, inFlight at a time, and transfers nothing. It uses the standard
// library's AES-256 in CBC mode and HMAC-SHA-1, the parts of aes256-cts-hmac-sha1-96.
//
// The server seals the data of a READ: it authenticates and encrypts. The client opens it: it
// decrypts and authenticates. With one READ at a time these never overlap, so the client's process
// does both, one after the other. With more in flight they overlap: the server's process seals n
// transfers while the client's opens n, each on its own processor. A run ends when both are done.
// The processes communicate only at the beginning and the end of a run.
func Crypto(size, inFlight int) paired.Scenario {
	return paired.Scenario{
		Name:   "aes-sha/" + transferName("read", size, inFlight),
		Metric: paired.Throughput,
		Bytes:  size,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) {
			l, err := (&net.ListenConfig{Control: s.Control}).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			return paired.Serve(ctx, l.Addr(), func(ctx context.Context) error {
				return sealFor(ctx, l, size, inFlight)
			}), nil
		},
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			conn, err := (&net.Dialer{Control: s.Control}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return &opener{conn: conn, work: newPrimitives(size, inFlight), together: inFlight > 1}, nil
		},
	}
}

// primitives are AES and SHA, with memory for the transfers in flight.
type primitives struct {
	enc, dec cipher.BlockMode
	mac      hash.Hash
	sum      []byte
	slots    [][]byte
}

func newPrimitives(size, slots int) *primitives {
	block, err := aes.NewCipher(host.Pattern(32))
	if err != nil {
		panic(err) // cannot happen with a key of 32 bytes
	}
	p := &primitives{
		enc: cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)),
		dec: cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)),
		mac: hmac.New(sha1.New, host.Pattern(32)),
		sum: make([]byte, 0, sha1.Size),
	}
	for range slots {
		p.slots = append(p.slots, host.Pattern(size))
	}
	return p
}

func (p *primitives) authenticate(b []byte) {
	p.mac.Reset()
	p.mac.Write(b)
	p.sum = p.mac.Sum(p.sum[:0])
}

// seal does the work of the sender of transfer i.
func (p *primitives) seal(i int) {
	b := p.slots[i%len(p.slots)]
	p.authenticate(b)
	p.enc.CryptBlocks(b, b)
}

// open does the work of the receiver of transfer i.
func (p *primitives) open(i int) {
	b := p.slots[i%len(p.slots)]
	p.dec.CryptBlocks(b, b)
	p.authenticate(b)
}

// sealFor serves one connection: it seals as many transfers as the client asks for, and reports
// when done.
func sealFor(ctx context.Context, l net.Listener, size, slots int) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	defer conn.Close()
	end := context.AfterFunc(ctx, func() { conn.Close() })
	defer end()
	work := newPrimitives(size, slots)
	var n [8]byte
	for {
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			<-ctx.Done() // the client has gone, or the scenario is closed
			return ctx.Err()
		}
		for i := range int(binary.BigEndian.Uint64(n[:])) {
			work.seal(i)
		}
		if _, err := conn.Write(n[:]); err != nil {
			<-ctx.Done()
			return ctx.Err()
		}
	}
}

// opener is the client of Crypto.
type opener struct {
	conn     net.Conn
	work     *primitives
	together bool // the server seals at the same time
}

func (o *opener) Run(n int, _ []time.Duration) error {
	if !o.together {
		for i := range n {
			o.work.seal(i)
			o.work.open(i)
		}
		return nil
	}
	var msg [8]byte
	binary.BigEndian.PutUint64(msg[:], uint64(n))
	if _, err := o.conn.Write(msg[:]); err != nil {
		return fmt.Errorf("telling the server to seal: %w", err)
	}
	for i := range n {
		o.work.open(i)
	}
	if _, err := io.ReadFull(o.conn, msg[:]); err != nil {
		return fmt.Errorf("waiting for the server: %w", err)
	}
	return nil
}

func (o *opener) Close() error { return o.conn.Close() }
