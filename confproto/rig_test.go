package confproto

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen before it calls it a hang.
const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// provider makes a listener and a dialer of it. Reads are those that the peer may have under way at
// that end; -1 is none.
type provider struct {
	name   string
	posted bool // receives have their memory when they are posted
	device bool // transporttest.Device
	make   func(t *testing.T, serverReads, clientReads int) (transport.Listener, transport.Dialer)
}

var providers = []provider{
	{"loopback", false, false, onLoopback},
	{"iwarp", false, false, func(t *testing.T, serverReads, clientReads int) (
		transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet, IRD: serverReads})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{Config: iwarp.Config{Logger: quiet, IRD: clientReads}}
	}},
}

func onLoopback(t *testing.T, serverReads, clientReads int) (transport.Listener, transport.Dialer) {
	f := loopback.New()
	l, err := f.Listen("server", loopback.Config{IRD: serverReads})
	if err != nil {
		t.Fatal(err)
	}
	return l, f.Dialer(loopback.Config{IRD: clientReads})
}

// onProviders runs a test on each provider.
func onProviders(t *testing.T, test func(t *testing.T, p provider)) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

// onPosted runs a test on each provider, as it is and without the ability to promise receives, and
// on a device.
func onPosted(t *testing.T, test func(t *testing.T, p provider)) {
	onProviders(t, test)
	for _, p := range providers {
		p.posted = true
		t.Run(p.name+", posted", func(t *testing.T) { test(t, p) })
	}
	t.Run("device", func(t *testing.T) { test(t, provider{"device", true, true, onLoopback}) })
}

// testProgram returns the requested number of bytes and ignores other arguments. None of its data
// may travel by chunk on its own.
const testProgram = 400_000

type testArgs struct {
	want uint32
	data []byte
}

func (a *testArgs) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(a.want)
	e.Opaque(a.data, 1<<20)
}

// bulkArgs are the same, with data that may travel on its own, and may be padded.
type bulkArgs testArgs

func (a *bulkArgs) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(a.want)
	e.BulkBytes(a.data, nil)
}

type testReply struct{ data []byte }

func (r *testReply) UnmarshalXDR(d *xdr.Decoder) { r.data = bytes.Clone(d.Opaque(1 << 20)) }

// Bytes of a call and of its reply, in addition to the data: RPC-over-RDMA header without chunks,
// RPC header with AUTH_NONE, words.
const (
	callRoom  = 28 + 40 + 8
	replyRoom = 28 + 24 + 4
)

// rig is a server with the test program, on a provider.
type rig struct {
	t      *testing.T
	server *oncrpc.Server
	dialer transport.Dialer
	addr   string
	conns  chan *rpcrdma.Conn // the server's, with each call of the test program
}

// setup is the configuration of a rig.
type setup struct {
	server                   rpcrdma.Config
	serverReads, clientReads int
	programs                 []oncrpc.Program
	flavors                  []oncrpc.ServerFlavor
}

func newRig(t *testing.T, p provider, s setup) *rig {
	t.Helper()
	l, d := p.make(t, s.serverReads, s.clientReads)
	if p.device {
		l, d = transporttest.Device(l, d)
	}
	r := &rig{t: t, dialer: d, addr: l.Addr().String(), conns: make(chan *rpcrdma.Conn, 1)}
	r.server = oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet, Flavors: s.flavors})
	r.server.Handle(s.programs...)
	r.server.Handle(r.program())
	s.server.Logger = quiet
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, r.server, s.server) }()
	t.Cleanup(func() {
		r.server.Close()
		if err := wait(t, served); !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// program is the test program.
func (r *rig) program() oncrpc.Program {
	return oncrpc.Program{Name: "test", Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{1: {Name: "DATA", Handler: r.data}}}
}

// data is the procedure of the test program.
func (r *rig) data(ctx context.Context, c *oncrpc.Call) error {
	want := c.Args.Uint32()
	bulk := c.Args.Bulk(1 << 20)
	if err := c.Args.Finish(); err != nil {
		return err
	}
	data, err := bulk.Bytes(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, filled(len(data))) || want > 1<<20 {
		return oncrpc.ErrGarbageArgs
	}
	select {
	case r.conns <- c.Conn.(*rpcrdma.Conn):
	default:
	}
	c.Results.Opaque(filled(int(want)), 1<<20)
	return nil
}

// filled is n bytes, up to 1 MiB, that say where they are. They are not to be written to.
func filled(n int) []byte { return pattern()[:n:n] }

var pattern = sync.OnceValue(func() []byte {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(i ^ i>>8)
	}
	return b
})

// client is a connection to a rig.
type client struct {
	*rpcrdma.Conn
	t     *testing.T
	infos chan rpcrdma.CallInfo // of the calls that are over, as far as there is room
}

func (c *client) CallDone(i *rpcrdma.CallInfo) {
	select {
	case c.infos <- *i:
	default:
	}
}

func (r *rig) dial(cfg rpcrdma.Config) *client {
	r.t.Helper()
	c := &client{t: r.t, infos: make(chan rpcrdma.CallInfo, 1)}
	cfg.Logger, cfg.Observer = quiet, c
	var err error
	if c.Conn, err = rpcrdma.Dial(r.t.Context(), r.dialer, r.addr, cfg); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		c.Close()
		wait(r.t, c.Done())
	})
	return c
}

// exchange calls the test program with data of that length both ways.
func (c *client) exchange(send, recv int) error {
	return c.call(&testArgs{uint32(recv), filled(send)}, recv)
}

// call calls the test program.
func (c *client) call(args oncrpc.Marshaler, recv int) error {
	var reply testReply
	err := oncrpc.NewClient(c, testProgram, 1, oncrpc.AuthNone()).Do(c.t.Context(), &oncrpc.Request{
		Procedure: 1, Args: args, Reply: &reply, MaxReply: 4 + xdr.RoundUp(recv),
	})
	if err == nil && !bytes.Equal(reply.data, filled(recv)) {
		return errors.New("the reply is not what it should be")
	}
	return err
}

// info is exchange; it says how the call travelled.
func (c *client) info(send, recv int) rpcrdma.CallInfo {
	c.t.Helper()
	select {
	case <-c.infos: // of an earlier call
	default:
	}
	if err := c.exchange(send, recv); err != nil {
		c.t.Fatalf("%d bytes there, %d back: %v", send, recv, err)
	}
	return wait(c.t, c.infos)
}

// padding makes a call with 2000 bytes of data, and returns how much it was padded.
func (c *client) padding() int {
	c.t.Helper()
	select {
	case <-c.infos: // of an earlier call
	default:
	}
	if err := c.call(&bulkArgs{0, filled(2000)}, 0); err != nil {
		c.t.Fatal(err)
	}
	return wait(c.t, c.infos).Padding
}

// checkSizes checks that messages of up to these sizes, and no longer ones, travel inline.
func (c *client) checkSizes(call, reply int) {
	c.t.Helper()
	if i := c.info(call-callRoom, 0); i.ReadChunk != 0 || i.InlineSent == 0 {
		c.t.Errorf("a call of %d bytes is not sent inline: %+v", call, i)
	}
	if i := c.info(call-callRoom+4, 0); i.ReadChunk == 0 || i.InlineSent != 0 {
		c.t.Errorf("a call of %d bytes is sent inline: %+v", call+4, i)
	}
	if i := c.info(0, reply-replyRoom); i.ReplyChunk != 0 || i.InlineReceived != reply-28 {
		c.t.Errorf("a reply of %d bytes does not come inline: %+v", reply, i)
	}
	if i := c.info(0, reply-replyRoom+4); i.ReplyChunk == 0 || i.InlineReceived != 0 {
		c.t.Errorf("a reply of %d bytes comes inline: %+v", reply+4, i)
	}
}

// peer returns the server's end of a connection.
func (r *rig) peer(c *client) *rpcrdma.Conn {
	r.t.Helper()
	select {
	case <-r.conns:
	default:
	}
	if err := c.exchange(0, 0); err != nil {
		r.t.Fatal(err)
	}
	return wait(r.t, r.conns)
}

// wait receives from ch, or fails the test.
func wait[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing happened")
		panic("unreachable")
	}
}
