//go:build interop

package sctp

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// rig has our provider on one side of a relay, and a peer on the other.
type rig struct {
	t      *testing.T
	cfg    iwarp.Config
	low    sctp.Config
	relay  *relay
	peer   *peer
	listen *iwarp.Listener // where the peer asks
	dialer iwarp.Dialer    // where we ask
}

// newRig returns the common part of both kinds of rig. At the end it checks for leftover
// goroutines.
func newRig(t *testing.T, cfg iwarp.Config, low sctp.Config) *rig {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	cfg.NudgeAfter = -1 // what we send is expected to the byte
	cfg.Logger = slog.New(slog.DiscardHandler)
	low.Logger, low.Counters = cfg.Logger, new(sctp.Counters)
	return &rig{t: t, cfg: cfg, low: low}
}

// ourListener starts our listener, and a relay to it. No peer connects yet.
func ourListener(t *testing.T, cfg iwarp.Config, low sctp.Config,
	forward func(datagram) []datagram) *rig {
	t.Helper()
	r := newRig(t, cfg, low)
	r.low.UDPPort = -1
	below, err := sctp.Listen(t.Context(), "127.0.0.1:5000", r.low)
	if err != nil {
		t.Fatal(err)
	}
	if r.listen, err = iwarp.NewListener(below, r.cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.listen.Close() })
	r.relay = startRelay(t, int(below.Addr().(sctp.Addr).UDPPort), forward)
	return r
}

// asked starts our listener, and a peer with an association to it. The caller must defer over.
func asked(t *testing.T, cfg iwarp.Config, low sctp.Config,
	forward func(datagram) []datagram) *rig {
	t.Helper()
	r := ourListener(t, cfg, low, forward)
	indication := r.indication()
	r.peer = connect(t, r.relay.port(), "-n", "4", "-i", "0x"+indication)
	r.peer.expect("up 4 4", "indication "+indication)
	return r
}

// ourDialer starts a listening peer, a relay to it, and our dialer. The caller must defer over.
func ourDialer(t *testing.T, cfg iwarp.Config, low sctp.Config, args ...string) *rig {
	t.Helper()
	r := newRig(t, cfg, low)
	r.peer = listen(t, args...)
	r.relay = startRelay(t, r.peer.udp, nil)
	r.low.UDPPort = r.relay.port()
	below, err := sctp.NewDialer(r.low)
	if err != nil {
		t.Fatal(err)
	}
	r.dialer = iwarp.Dialer{Config: r.cfg, DialContext: below.DialContext}
	return r
}

// asks is ourDialer with a peer that has our indication.
func asks(t *testing.T, cfg iwarp.Config, low sctp.Config) *rig {
	t.Helper()
	r := ourDialer(t, cfg, low)
	r.peer.command("quit") // it is to indicate what is known only now
	hang.Receive(t, "the peer to quit", r.peer.ended)
	r.peer = listen(t, "-u", strconv.Itoa(r.peer.udp), "-n", "4", "-i", "0x"+r.indication())
	return r
}

func (r *rig) indication() string {
	if r.low.Draft {
		return "00000002"
	}
	return "00000001"
}

// over ends the association, if there is one. Otherwise our end would wait for the peer.
func (r *rig) over() {
	fmt.Fprintln(r.peer.stdin, "abort")
	for line := range r.peer.lines {
		switch {
		case line == "down lost -": // by this command
			for !r.aborted() {
				time.Sleep(time.Millisecond)
			}
			return
		case strings.HasPrefix(line, "error send"):
			return
		}
	}
}

// aborted reports whether the relay has seen an ABORT from the peer.
func (r *rig) aborted() bool {
	for _, d := range r.relay.datagrams() {
		p, err := parsePacket(d.Payload)
		if err == nil && d.FromClient == (r.listen != nil) &&
			len(chunksOf([]packet{p}, chunkAbort)) > 0 {
			return true
		}
	}
	return false
}

// expectUp waits for the association of our dialer.
func (r *rig) expectUp() {
	r.t.Helper()
	r.peer.expect("up 4 4", "indication "+r.indication())
}

// says makes the peer send a message unordered, as DDP over SCTP does.
func (r *rig) says(stream int, ppid uint32, bytes string) {
	r.t.Helper()
	r.peer.send(stream, ppid, true, fmt.Sprintf("%x", unhex(r.t, bytes)))
}

// hears waits for our next message, which must be this one.
func (r *rig) hears(stream int, ppid uint32, bytes string) {
	r.t.Helper()
	m := r.peer.receive()
	m.TSN = 0
	want := message{stream, ppid, true, 0, fmt.Sprintf("%x", unhex(r.t, bytes))}
	if m != want {
		r.t.Fatalf("we send %+v, want %+v", m, want)
	}
}

// request waits for the peer's request.
func (r *rig) request() transport.Request {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hang.Patience)
	defer cancel()
	req, err := r.listen.Accept(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return req
}

// accept accepts the peer's request with private data.
func (r *rig) accept(private string) *end {
	r.t.Helper()
	ep, err := r.request().Accept(r.t.Context(), transport.Private([]byte(private)))
	if err != nil {
		r.t.Fatal(err)
	}
	return newEnd(r.t, ep)
}

// dialed is the result of Dial.
type dialed struct {
	ep  transport.Endpoint
	err error
}

// dial dials in the background.
func (r *rig) dial(private string) <-chan dialed {
	c := make(chan dialed, 1)
	go func() {
		ep, err := r.dialer.Dial(r.t.Context(), "127.0.0.1:5000",
			transport.Private([]byte(private)))
		c <- dialed{ep, err}
	}()
	return c
}

// end waits for Dial to succeed.
func (r *rig) end(c <-chan dialed) *end {
	r.t.Helper()
	d := hang.Receive(r.t, "Dial", c)
	if d.err != nil {
		r.t.Fatal(d.err)
	}
	return newEnd(r.t, d.ep)
}

// refused waits for Dial to fail.
func (r *rig) refused(c <-chan dialed) error {
	r.t.Helper()
	d := hang.Receive(r.t, "Dial", c)
	if d.err == nil {
		d.ep.Close()
		r.t.Fatal("Dial has succeeded")
	}
	return d.err
}

// session makes the peer ask for a session on a stream, and accepts it. In the draft it asks by an
// RDMA Write of no bytes.
func (r *rig) session(stream int) *end {
	r.t.Helper()
	if r.low.Draft {
		r.says(stream, 1, "c1 40 00000000 0000000000000000")
		return r.accept("")
	}
	r.says(stream, 17, "0000 0001")
	e := r.accept("")
	r.hears(stream, 17, "0000 0002")
	return e
}

// end is a started endpoint of ours.
type end struct {
	t *testing.T
	transport.Endpoint
	messages    chan string
	completions chan error
}

func newEnd(t *testing.T, ep transport.Endpoint) *end {
	e := &end{t, ep, make(chan string, 10), make(chan error, 10)}
	t.Cleanup(func() { ep.Close() })
	ep.Start(e)
	return e
}

// Received implements transport.MessageHandler.
func (e *end) Received(batch []transport.Message) {
	for _, m := range batch {
		e.messages <- fmt.Sprintf("%x", m.Receive.Local[0].Bytes[:m.Len])
	}
}

// Complete implements transport.Completer.
func (e *end) Complete(_ *transport.WorkRequest, err error) { e.completions <- err }

// post posts a request.
func (e *end) post(wr *transport.WorkRequest) {
	e.t.Helper()
	wr.Done = e
	if err := e.Post(wr); err != nil {
		e.t.Fatal(err)
	}
}

// send posts a Send.
func (e *end) send(bytes string) {
	e.t.Helper()
	e.post(&transport.WorkRequest{Op: transport.OpSend, Local: memory(unhex(e.t, bytes))})
}

// receives posts a receive.
func (e *end) receives() {
	e.t.Helper()
	if err := e.PostRecv(&transport.RecvRequest{Local: memory(make([]byte, 8000))}); err != nil {
		e.t.Fatal(err)
	}
}

// wantMessage waits for a message from the peer.
func (e *end) wantMessage(want string) {
	e.t.Helper()
	want = fmt.Sprintf("%x", unhex(e.t, want))
	if got := hang.Receive(e.t, "a message", e.messages); got != want {
		e.t.Errorf("received %s, want %s", got, want)
	}
}

// ended waits until the endpoint ends, and returns the reason.
func (e *end) ended() error {
	e.t.Helper()
	hang.Receive(e.t, "the end of the endpoint", e.Done())
	return e.Err()
}

// memory is a scatter list of one element.
func memory(p []byte) []transport.Slice { return []transport.Slice{{Bytes: p}} }

// send returns a segment with a whole Send (RFC 5041 section 4.3, RFC 5040 section 4.3).
func send(msn int, payload string) string {
	return fmt.Sprintf("41 43 00000000 00000000 %08x 00000000 %s", msn, payload)
}

// goOn checks that messages pass both ways on a session of the peer's on which only the setup has
// taken place.
func (r *rig) goOn(stream int, e *end) {
	r.t.Helper()
	e.receives()
	r.says(stream, 16, "0001"+send(1, "676f"))
	e.wantMessage("676f")
	e.send("6f6e")
	r.hears(stream, 16, "0001"+send(1, "6f6e"))
}
