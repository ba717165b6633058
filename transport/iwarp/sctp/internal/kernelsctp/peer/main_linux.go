// Command peer is one end of NFS with RPC-over-RDMA on DDP over SCTP, for tests. SCTP is that of
// the Linux kernel, or that of package sctp over UDP.
//
//	peer [-kernel] [-udp PORT] serve HOST:PORT
//	peer [-kernel] [-udp PORT] copy HOST:PORT BYTES
//
// serve serves an empty file system in memory. copy writes a file of BYTES bytes there, reads it,
// and fails if it differs. HOST is an IPv4 address, and PORT an SCTP port. With -kernel, the UDP
// port is that of net.sctp.udp_port.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/kernelsctp"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// peer holds the flags.
type peer struct {
	kernel bool
	cfg    sctp.Config
	iwarp  iwarp.Config
}

func run(ctx context.Context) error {
	p := peer{iwarp: iwarp.Config{Enhanced: mpa.EnhancedRequired}}
	flag.BoolVar(&p.kernel, "kernel", false, "SCTP is that of the kernel")
	flag.IntVar(&p.cfg.UDPPort, "udp", sctp.DefaultUDPPort, "the `port` of UDP, without -kernel")
	flag.IntVar(&p.cfg.MTU, "mtu", 0, "`bytes` of an SCTP packet, without -kernel; 0: by the path")
	flag.Parse()
	switch flag.Arg(0) {
	case "serve":
		return p.serve(ctx, flag.Arg(1))
	case "copy":
		n, err := strconv.ParseInt(flag.Arg(2), 10, 64)
		if err != nil {
			return err
		}
		return p.copy(ctx, flag.Arg(1), n)
	}
	return errors.New("usage: peer [-kernel] [-udp PORT] serve|copy HOST:PORT [BYTES]")
}

// listen listens for sessions.
func (p *peer) listen(ctx context.Context, addr string) (net.Listener, error) {
	if !p.kernel {
		return sctp.Listen(ctx, addr, p.cfg)
	}
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	return kernelsctp.Listen(at, p.cfg)
}

// dialer returns a dialer of sessions.
func (p *peer) dialer() (transport.Dialer, error) {
	if p.kernel {
		return iwarp.Dialer{
			Config: p.iwarp, DialContext: kernelsctp.Dialer{Config: p.cfg}.DialContext,
		}, nil
	}
	d, err := sctp.NewDialer(p.cfg)
	if err != nil {
		return nil, err
	}
	return iwarp.Dialer{Config: p.iwarp, DialContext: d.DialContext}, nil
}

// serve serves an empty file system until the process is killed.
func (p *peer) serve(ctx context.Context, addr string) error {
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		return err
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: "/", FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}},
	})
	if err != nil {
		return err
	}
	below, err := p.listen(ctx, addr)
	if err != nil {
		return err
	}
	l, err := iwarp.NewListener(below, p.iwarp)
	if err != nil {
		return err
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	if err := srv.Handle(nfs.Programs()...); err != nil {
		return err
	}
	fmt.Println("serving at", l.Addr())
	return rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
}

// copy writes a file and reads it.
func (p *peer) copy(ctx context.Context, addr string, n int64) error {
	d, err := p.dialer()
	if err != nil {
		return err
	}
	conn, err := rpcrdma.Dial(ctx, d, addr, rpcrdma.Config{})
	if err != nil {
		return err
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "peer"})
	if err != nil {
		return err
	}
	client := nfsclient.New(conn, cred)
	root, err := client.Mount(ctx, "/")
	if err != nil {
		return err
	}
	files := nfsfs.New(client, root, nfsfs.Config{Export: "/"})
	if err := timed("written", n, func() error { return write(ctx, files, n) }); err != nil {
		return err
	}
	return timed("read", n, func() error { return read(ctx, files, n) })
}

// timed reports how long something took.
func timed(what string, n int64, f func() error) error {
	begun := time.Now()
	if err := f(); err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	fmt.Printf("%d bytes %s in %.1f s, %.1f MB/s\n", n, what, took, float64(n)/took/1e6)
	return nil
}

const name = "file"

// content is the content of the file: random enough that no part can be mistaken for another.
func content(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), n) }

func write(ctx context.Context, files *nfsfs.FS, n int64) error {
	f, err := files.Create(ctx, name)
	if err != nil {
		return err
	}
	_, err = f.ReadFrom(content(n))
	return errors.Join(err, f.Close())
}

func read(ctx context.Context, files *nfsfs.FS, n int64) error {
	f, err := files.Open(ctx, name)
	if err != nil {
		return err
	}
	c := &comparison{want: bufio.NewReader(content(n))}
	_, err = f.WriteTo(c)
	if err == nil && c.n != n {
		err = fmt.Errorf("the file has %d bytes, not %d", c.n, n)
	}
	return errors.Join(err, f.Close())
}

// comparison is a writer that fails if it is given bytes other than the expected ones.
type comparison struct {
	want io.Reader
	n    int64
	b    []byte
}

func (c *comparison) Write(p []byte) (int, error) {
	c.b = append(c.b[:0], p...)
	if _, err := io.ReadFull(c.want, c.b); err != nil {
		return 0, fmt.Errorf("more bytes than were written, at %d: %w", c.n, err)
	}
	if !bytes.Equal(p, c.b) {
		return 0, fmt.Errorf("other bytes than were written, from %d on", c.n)
	}
	c.n += int64(len(p))
	return len(p), nil
}
