package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// newWriter returns a Writer, and what it has written.
func newWriter(t *testing.T) (*trace.Writer, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	w, err := trace.New(&b, trace.Config{Ended: func(err error) { t.Errorf("ended: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	return w, &b
}

// pair returns a connection of TCP whose ends are traced by a Writer each, which may be nil.
func pair(t *testing.T, dialing, listening *trace.Writer) (client, server net.Conn) {
	t.Helper()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := listening.Listener(below)
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err == nil {
		client = dialing.Dialed(client)
		server, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// pass has one end write and the other read.
func pass(t *testing.T, from, to net.Conn, data []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := from.Write(data)
		sent <- err
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func closeWrite(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
}

// TestTCP: the traces of both ends show the connection as it was.
func TestTCP(t *testing.T) {
	var (
		w     [2]*trace.Writer
		files [2]*bytes.Buffer
	)
	for i := range w {
		w[i], files[i] = newWriter(t)
	}
	client, server := pair(t, w[0], w[1])
	call, reply := []byte("call"), bytes.Repeat([]byte("reply "), 50000)
	pass(t, client, server, call)
	pass(t, server, client, reply)
	pass(t, client, server, call)
	closeWrite(t, client)
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v", n, err)
	}
	server.Close()
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v", n, err)
	}
	client.Close()
	for i, file := range files {
		all := connections(t, decode(t, file.Bytes()))
		if len(all) != 1 {
			t.Fatalf("trace %d: %d connections", i, len(all))
		}
		c := all[0]
		want := [2]netip.AddrPort{addrPort(client.LocalAddr()), addrPort(server.LocalAddr())}
		if c.ends != want {
			t.Errorf("trace %d: ends %v, want %v", i, c.ends, want)
		}
		if !bytes.Equal(c.flows[0].bytes, slices.Concat(call, call)) || c.flows[0].end != fin {
			t.Errorf("trace %d: from the client: %q, end %#x", i, c.flows[0].bytes, c.flows[0].end)
		}
		if !bytes.Equal(c.flows[1].bytes, reply) || c.flows[1].end != fin {
			t.Errorf("trace %d: from the server: %d bytes, end %#x", i, len(c.flows[1].bytes),
				c.flows[1].end)
		}
		if c.short > 0 {
			t.Errorf("trace %d goes back %d times", i, c.short)
		}
	}
}

// TestHandshake: a connection begins with SYN, SYN ACK and ACK. The sequence numbers of the next
// begin elsewhere, for its ports may be the same.
func TestHandshake(t *testing.T) {
	w, file := newWriter(t)
	var want []packet
	for first := uint32(0); first <= 1<<16; first += 1 << 16 {
		client, _ := pair(t, w, nil)
		from, to := addrPort(client.LocalAddr()), addrPort(client.RemoteAddr())
		want = append(want,
			packet{src: from, dst: to, seq: first, ack: 0, flags: syn},
			packet{src: to, dst: from, seq: first, ack: first + 1, flags: syn | ack},
			packet{src: from, dst: to, seq: first + 1, ack: first + 1, flags: ack})
	}
	got := decode(t, file.Bytes())
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
		t.Error(diff)
	}
}

// TestReset: the trace has an RST at the end that resets a connection and at the end that learns
// it.
func TestReset(t *testing.T) {
	var (
		w     [2]*trace.Writer
		files [2]*bytes.Buffer
	)
	for i := range w {
		w[i], files[i] = newWriter(t)
	}
	client, server := pair(t, w[0], w[1])
	if err := client.(interface{ SetLinger(int) error }).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("read: %v", err)
	}
	for i, file := range files {
		if c := connections(t, decode(t, file.Bytes()))[0]; c.flows[0].end != rst || c.flows[1].end != 0 {
			t.Errorf("trace %d: ends %#x and %#x", i, c.flows[0].end, c.flows[1].end)
		}
	}
}

// stub is a connection that takes some of what it is given.
type stub struct {
	net.Conn
	takes   int
	written []byte
}

func (*stub) LocalAddr() net.Addr  { return nil }
func (*stub) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "@"} }
func (*stub) Close() error         { return nil }

func (s *stub) Write(p []byte) (int, error) {
	n := min(len(p), s.takes)
	s.written = append(s.written, p[:n]...)
	if n < len(p) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// TestShortWrite: bytes that a short Write did not send get the same sequence numbers when they are
// sent later. Addresses are made up, and differ between connections.
func TestShortWrite(t *testing.T) {
	w, file := newWriter(t)
	below := [2]stub{{takes: 3}, {takes: 4}}
	for i := range below {
		conn := w.Dialed(&below[i])
		for _, p := range []string{"abc", "defghijk", "ghi", "", "j"} {
			_, _ = conn.Write([]byte(p))
		}
		conn.Close()
	}
	all := connections(t, decode(t, file.Bytes()))
	for i, c := range all {
		if !bytes.Equal(c.flows[0].bytes, below[i].written) || c.flows[0].end != fin || c.short == 0 {
			t.Errorf("trace has %q, end %#x; written were %q", c.flows[0].bytes, c.flows[0].end,
				below[i].written)
		}
	}
	if len(all) != 2 || all[0].ends == all[1].ends || all[0].ends[1].Port() != 20049 {
		t.Errorf("connections: %+v", all)
	}
}

// TestAbilities: a traced connection has the same methods as the original.
func TestAbilities(t *testing.T) {
	w, _ := newWriter(t)
	tcp, _ := pair(t, w, nil)
	a, _ := net.Pipe()
	for _, tt := range []struct {
		name           string
		conn           net.Conn
		half, tls, own bool
	}{
		{"TCP", tcp, true, false, true},
		{"pipe", w.Dialed(a), false, false, false},
		{"TLS", w.Dialed(&overTLS{Conn: a}), true, true, false},
		{"no trace", (*trace.Writer)(nil).Dialed(tcp), true, false, true},
	} {
		_, half := tt.conn.(interface{ CloseWrite() error })
		_, tls := tt.conn.(interface{ NetConn() net.Conn })
		_, own := tt.conn.(interface{ TCPConn() *net.TCPConn })
		if half != tt.half || tls != tt.tls || own != tt.own {
			t.Errorf("%s: can be closed by half %t, is TLS %t, is TCP %t", tt.name, half, tls, own)
		}
	}
}

// overTLS looks like a connection of TLS.
type overTLS struct{ net.Conn }

func (c *overTLS) CloseWrite() error { return nil }
func (c *overTLS) NetConn() net.Conn { return c.Conn }

// TestDatagrams: addresses of both families, and mixed ones. No checksum is 0.
func TestDatagrams(t *testing.T) {
	const here, there = 9899, 40000
	for _, tt := range []struct{ local, remote, src, dst string }{
		{"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"},
		{"2001:db8::1", "2001:db8::2", "2001:db8::1", "2001:db8::2"},
		{"fe80::1%eth0", "fe80::2", "fe80::1", "fe80::2"},
		{"::ffff:192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"},
		{"::", "192.0.2.2", "::", "::ffff:192.0.2.2"},
		{"0.0.0.0", "2001:db8::2", "::ffff:0.0.0.0", "2001:db8::2"},
	} {
		t.Run(tt.local, func(t *testing.T) {
			w, file := newWriter(t)
			local := netip.AddrPortFrom(netip.MustParseAddr(tt.local), here)
			remote := netip.AddrPortFrom(netip.MustParseAddr(tt.remote), there)
			w.Datagram(local, remote, true, []byte("odd"))
			w.Datagram(local, remote, false, nil)
			src := netip.AddrPortFrom(netip.MustParseAddr(tt.src), here)
			dst := netip.AddrPortFrom(netip.MustParseAddr(tt.dst), there)
			want := []packet{
				{src: src, dst: dst, udp: true, payload: []byte("odd")},
				{src: dst, dst: src, udp: true},
			}
			if got := decode(t, file.Bytes()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
	w, file := newWriter(t)
	a := netip.MustParseAddrPort("192.0.2.1:9899")
	for i := range 1 << 16 {
		w.Datagram(a, a, true, []byte{byte(i >> 8), byte(i)})
	}
	if n := len(decode(t, file.Bytes())); n != 1<<16 {
		t.Errorf("%d datagrams", n)
	}
}

// failing takes some bytes, and fails then.
type failing struct {
	bytes.Buffer
	takes int
}

var errFull = errors.New("no space left")

func (f *failing) Write(p []byte) (int, error) {
	if f.Len()+len(p) > f.takes {
		return 0, errFull
	}
	return f.Buffer.Write(p)
}

// TestBound: for each bound, a file has as many whole packets as fit, Ended is called once, and
// connections go on.
func TestBound(t *testing.T) {
	const header, packets = 24, 3 * 16
	handshake := header + packets + 3*40 + 2*8
	segment := 16 + 40 + 10
	for _, tt := range []struct {
		name  string
		max   int
		bytes int
	}{
		{"nothing but the header", header, header},
		{"not all of the handshake", handshake - 1, handshake - 16 - 40},
		{"the handshake alone", handshake, handshake},
		{"not quite one segment", handshake + segment - 1, handshake},
		{"one segment", handshake + segment, handshake + segment},
		{"not quite all", handshake + 4*segment - 1, handshake + 3*segment},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var (
				file  bytes.Buffer
				ended []error
			)
			w, err := trace.New(&file, trace.Config{
				Max:   int64(tt.max),
				Ended: func(err error) { ended = append(ended, err) },
			})
			if err != nil {
				t.Fatal(err)
			}
			client, server := pair(t, w, nil)
			for range 2 {
				pass(t, client, server, []byte("ten bytes!"))
				pass(t, server, client, []byte("ten bytes!"))
			}
			if len(ended) != 1 || !errors.Is(ended[0], trace.ErrFull) || !errors.Is(w.Err(), trace.ErrFull) {
				t.Errorf("told %v; the error is %v", ended, w.Err())
			}
			if file.Len() != tt.bytes {
				t.Errorf("%d bytes, want %d", file.Len(), tt.bytes)
			}
			decode(t, file.Bytes())
		})
	}
	for _, max := range []int64{header - 1, 1, -1} {
		var file bytes.Buffer
		if _, err := trace.New(&file, trace.Config{Max: max}); err == nil || file.Len() > 0 {
			t.Errorf("Max %d: %v, and %d bytes", max, err, file.Len())
		}
	}
}

// TestLargeBound: one operation of many segments stops at the bound, too.
func TestLargeBound(t *testing.T) {
	const most = 1 << 20
	var file bytes.Buffer
	w, err := trace.New(&file, trace.Config{Max: most})
	if err != nil {
		t.Fatal(err)
	}
	client, server := pair(t, w, w)
	pass(t, client, server, make([]byte, 4*most))
	pass(t, server, client, make([]byte, 4*most))
	if n := file.Len(); n > most || n < most-1<<16 || w.Err() == nil {
		t.Errorf("%d bytes, of %d; %v", n, most, w.Err())
	}
	decode(t, file.Bytes())
}

// TestDiskFull: when the file cannot be written, connections go on and Ended is called once.
func TestDiskFull(t *testing.T) {
	if _, err := trace.New(&failing{takes: 23}, trace.Config{}); !errors.Is(err, errFull) {
		t.Errorf("without room for the header: %v", err)
	}
	var ended []error
	file := &failing{takes: 500}
	w, err := trace.New(file, trace.Config{Ended: func(err error) { ended = append(ended, err) }})
	if err != nil {
		t.Fatal(err)
	}
	client, server := pair(t, w, nil)
	for range 20 {
		pass(t, client, server, []byte("some"))
		pass(t, server, client, []byte("more"))
	}
	if len(ended) != 1 || !errors.Is(ended[0], errFull) || !errors.Is(w.Err(), errFull) {
		t.Errorf("told %v; the error is %v", ended, w.Err())
	}
	decode(t, file.Bytes())
}

// TestClose: nothing is written after Close, and connections go on.
func TestClose(t *testing.T) {
	w, file := newWriter(t)
	client, server := pair(t, w, nil)
	w.Close()
	n := file.Len()
	pass(t, client, server, []byte("call"))
	pass(t, server, client, []byte("reply"))
	client.Close()
	w.Datagram(addrPort(client.LocalAddr()), addrPort(client.RemoteAddr()), true, []byte("datagram"))
	w.RDMA(transport.Info{}, transport.Info{}).Ended()
	if file.Len() != n || !errors.Is(w.Err(), os.ErrClosed) {
		t.Errorf("%d bytes behind Close; %v", file.Len()-n, w.Err())
	}
	w.Close()
}

// TestNoWriter: a nil Writer changes nothing.
func TestNoWriter(t *testing.T) {
	var w *trace.Writer
	client, server := pair(t, w, w)
	for _, c := range []net.Conn{client, server} {
		if _, ok := c.(*net.TCPConn); !ok {
			t.Errorf("a %T", c)
		}
	}
	w.Datagram(netip.AddrPort{}, netip.AddrPort{}, true, nil)
	r := w.RDMA(transport.Info{}, transport.Info{})
	r.Executed(true, &transport.WorkRequest{Op: transport.OpSend})
	r.Ended()
	w.Close()
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

// TestConcurrently: connections in one file do not get mixed up.
func TestConcurrently(t *testing.T) {
	const conns, rounds = 8, 50
	w, file := newWriter(t)
	var wg sync.WaitGroup
	for i := range conns {
		client, server := pair(t, w, nil)
		data := bytes.Repeat([]byte{byte(i)}, 1000)
		wg.Go(func() {
			for range rounds {
				_, _ = client.Write(data)
			}
			closeWrite(t, client)
		})
		wg.Go(func() { _, _ = io.Copy(server, struct{ io.Reader }{server}); server.Close() })
		wg.Go(func() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{client}) })
	}
	wg.Wait()
	all := connections(t, decode(t, file.Bytes()))
	if len(all) != conns {
		t.Fatalf("%d connections", len(all))
	}
	for i, c := range all {
		want := bytes.Repeat([]byte{byte(i)}, 1000*rounds)
		for from, f := range c.flows {
			if !bytes.Equal(f.bytes, want) || f.end != fin {
				t.Errorf("connection %d, end %d: %d bytes, end %#x", i, from, len(f.bytes), f.end)
			}
		}
	}
}

// TestListenerError: a traced listener returns the error of the original.
func TestListenerError(t *testing.T) {
	w, _ := newWriter(t)
	below, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := w.Listener(below)
	l.Close()
	if conn, err := l.Accept(); conn != nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, %v", conn, err)
	}
}
