package iwarp_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// rig makes connections of one Config, each between an endpoint and a peer played by hand.
type rig struct {
	t        testing.TB
	dialing  bool // our ends dial
	cfg      iwarp.Config
	markers  bool // the peers want markers
	log      *logbook
	listener *iwarp.Listener  // ours
	peers    net.Listener     // listens for the peers that we dial
	network  *faultnet.Memory // in place of TCP if it is not nil
}

// newRig returns a rig with counters and a log of its own. At the end of t it checks that no
// goroutine is left.
func newRig(t testing.TB, dialing bool, cfg iwarp.Config) *rig {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	return newLeakyRig(t, dialing, cfg)
}

// newVirtualRig is newRig for a bubble of testing/synctest, with a network in memory. Package mpa
// takes other ways there than with a socket of TCP.
func newVirtualRig(t testing.TB, dialing bool, cfg iwarp.Config) *rig {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	r := configuredRig(t, dialing, cfg)
	r.network = faultnet.NewMemory(faultnet.Config{})
	below, err := r.network.Listen("10.0.0.1:20049")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { below.Close() })
	if dialing {
		r.peers = below
	} else if r.listener, err = iwarp.NewListener(below, r.cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// newLeakyRig is newRig without that check.
func newLeakyRig(t testing.TB, dialing bool, cfg iwarp.Config) *rig {
	t.Helper()
	r := configuredRig(t, dialing, cfg)
	if dialing {
		r.peers = listenTCP(t)
		return r
	}
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r.listener = l
	return r
}

// configuredRig returns a rig without a listener.
func configuredRig(t testing.TB, dialing bool, cfg iwarp.Config) *rig {
	r := &rig{t: t, dialing: dialing, cfg: cfg, log: new(logbook)}
	r.cfg.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	r.cfg.Counters = new(iwarp.Counters)
	if r.cfg.NudgeAfter == 0 {
		r.cfg.NudgeAfter = -1 // tests compare our output byte for byte
	}
	return r
}

// dialPeer connects a peer to our listener.
func (r *rig) dialPeer() *peer {
	r.t.Helper()
	if r.network == nil {
		return dialPeer(r.t, r.listener.Addr().String())
	}
	conn, err := r.network.Dialer("10.0.0.2")(r.t.Context(), "tcp", r.listener.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	return newPeer(r.t, conn)
}

// rdmac reports whether both sides are RDMAC RNICs.
func (r *rig) rdmac() bool { return r.cfg.RNIC == mpa.RDMAC }

// prepare sets p to what the two startup frames will agree on.
func (r *rig) prepare(p *peer) *peer {
	p.crc, p.rdmac = r.cfg.CRC == iwarp.CRCOn || r.rdmac(), r.rdmac()
	p.mark(r.cfg.Markers == mpa.MarkersOn || r.rdmac(), r.markers || r.rdmac())
	return p
}

// startup is the startup frame of a peer, made by requestFrame or replyFrame, with enhanced data.
func (r *rig) startup(frame func(bits, revision byte, private string) []byte, data string) []byte {
	if r.rdmac() {
		return frame(0xc0, 0, "") // M, C
	}
	bits := byte(0x10) // S
	if r.markers {
		bits |= 0x80
	}
	if r.cfg.CRC == iwarp.CRCOn {
		bits |= 0x40
	}
	return frame(bits, 2, data)
}

// The enhanced data of the peers' startup frames: IRD 2, ORD 2.
const (
	clientServer = "\x00\x02\x00\x02"
	peerToPeer   = "\xc0\x02\xc0\x02" // A, B, C, D
)

// connect makes a connection, without starting it.
func (r *rig) connect() (*peer, *local) {
	r.t.Helper()
	if r.cfg.PeerToPeer {
		return r.connectAs(peerToPeer)
	}
	return r.connectAs(clientServer)
}

// connectAs is connect with this enhanced data of the peer. A dialing end has sent its first
// message.
func (r *rig) connectAs(data string) (*peer, *local) {
	r.t.Helper()
	if r.dialing {
		return r.dialed(data)
	}
	p := r.prepare(r.dialPeer())
	p.write(r.startup(requestFrame, data))
	req := r.request()
	ep, err := req.Accept(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	p.readStartup()
	return p, newLocal(r.t, ep)
}

func (r *rig) dialed(data string) (*peer, *local) {
	r.t.Helper()
	dial := r.dial(r.t.Context())
	p := r.prepare(acceptPeer(r.t, r.peers))
	p.readStartup()
	p.write(r.startup(replyFrame, data))
	d := hang.Receive(r.t, "Dial", dial)
	if d.err != nil {
		r.t.Fatal(d.err)
	}
	l := newLocal(r.t, d.ep)
	if !r.cfg.PeerToPeer {
		l.post(&transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 7, Offset: 8}})
		p.want("the first FPDU", segment(toSTag(rdmap.OpWrite, 7, 8), ""))
	}
	return p, l
}

// dialResult is the result of Dial.
type dialResult struct {
	ep  transport.Endpoint
	err error
}

// dial dials in the background.
func (r *rig) dial(ctx context.Context) <-chan dialResult {
	c := make(chan dialResult, 1)
	go func() {
		d := iwarp.Dialer{Config: r.cfg}
		if r.network != nil {
			d.DialContext = r.network.Dialer("10.0.0.2")
		}
		ep, err := d.Dial(ctx, r.peers.Addr().String(), nil)
		c <- dialResult{ep, err}
	}()
	return c
}

// request waits for the request of a peer.
func (r *rig) request() transport.Request {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := r.listener.Accept(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return req
}

// wantCounters compares the counters that are not zero.
func (r *rig) wantCounters(want map[string]int) {
	r.t.Helper()
	if diff := cmp.Diff(want, tally(r.cfg.Counters)); diff != "" {
		r.t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// tally returns the counters that are not zero.
func tally(c *iwarp.Counters) map[string]int {
	m := make(map[string]int)
	v := reflect.ValueOf(c.Stats())
	for i := range v.NumField() {
		if n := v.Field(i).Uint(); n > 0 {
			m[v.Type().Field(i).Name] = int(n)
		}
	}
	return m
}

// logbook records the lines of a log.
type logbook struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// want checks that there are n lines, each with all of these words.
func (b *logbook) want(t testing.TB, n int, words ...string) {
	t.Helper()
	b.mu.Lock()
	text := b.text.String()
	b.mu.Unlock()
	if got := strings.Count(text, "\n"); got != n {
		t.Errorf("got %d lines in the log, want %d:\n%s", got, n, text)
	}
	for line := range strings.Lines(text) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				t.Errorf("log line %q, want %q in it", line, w)
			}
		}
	}
}

// local is our end of a connection, with its MessageHandler and Completer.
type local struct {
	t testing.TB
	transport.Endpoint
	messages    chan string
	completions chan error
}

// newLocal wraps an endpoint, and closes it at the end of t.
func newLocal(t testing.TB, ep transport.Endpoint) *local {
	l := &local{t: t, Endpoint: ep, messages: make(chan string, 1000), completions: make(chan error, 1000)}
	t.Cleanup(func() { ep.Close() })
	return l
}

// Received implements transport.MessageHandler.
func (l *local) Received(batch []transport.Message) {
	for _, m := range batch {
		var data []byte
		for _, s := range m.Receive.Local {
			data = append(data, s.Bytes...)
		}
		l.messages <- string(data[:m.Len])
	}
}

// Complete implements transport.Completer.
func (l *local) Complete(_ *transport.WorkRequest, err error) { l.completions <- err }

// Abandon implements transport.Abandoner.
func (l *local) Abandon(r transport.Region) error { return l.Endpoint.(transport.Abandoner).Abandon(r) }

// Poll implements transport.Poller.
func (l *local) Poll() { l.Endpoint.(transport.Poller).Poll() }

// start begins delivery.
func (l *local) start() *local {
	l.Start(l)
	return l
}

// post posts requests that complete to l.
func (l *local) post(wrs ...*transport.WorkRequest) {
	l.t.Helper()
	for _, wr := range wrs {
		wr.Done = l
	}
	if err := l.Post(wrs...); err != nil {
		l.t.Fatalf("Post: %v", err)
	}
}

// send posts a Send.
func (l *local) send(data string) {
	l.t.Helper()
	l.post(&transport.WorkRequest{Op: transport.OpSend, Local: slices([]byte(data))})
}

// receives posts n receives of 64 bytes.
func (l *local) receives(n int) {
	l.t.Helper()
	for range n {
		if err := l.PostRecv(&transport.RecvRequest{Local: slices(make([]byte, 64))}); err != nil {
			l.t.Fatalf("PostRecv: %v", err)
		}
	}
}

// expose opens a window.
func (l *local) expose(access transport.Access, parts ...[]byte) transport.Region {
	l.t.Helper()
	return transporttest.Expose(l.t, l, slices(parts...), access)
}

// wantMessage waits for the next message.
func (l *local) wantMessage(want string) {
	l.t.Helper()
	if got := hang.Receive(l.t, "message", l.messages); got != want {
		l.t.Errorf("received %q, want %q", got, want)
	}
}

// ended waits for the end, and returns why.
func (l *local) ended() error {
	l.t.Helper()
	hang.Receive(l.t, "Done", l.Done())
	return l.Err()
}

// alive checks that messages pass in both directions of a started connection without posted
// receives.
func alive(p *peer, l *local) {
	p.t.Helper()
	l.receives(1)
	p.sendMessage("are you there?")
	l.wantMessage("are you there?")
	l.send("yes")
	p.wantMessage("yes")
}

// slices is a scatter list.
func slices(parts ...[]byte) []transport.Slice {
	list := make([]transport.Slice, len(parts))
	for i, p := range parts {
		list[i].Bytes = p
	}
	return list
}

// terminateBytes returns the payload of a Terminate message by RFC 5040 section 4.8: with the
// length and the DDP header of a segment if copies is set, and with its Read Request header if
// request is set.
func terminateBytes(code rdmap.Code, seg []byte, copies, request bool) []byte {
	b := []byte{byte(code >> 8), byte(code), 0, 0}
	if !copies {
		return b
	}
	header := 18
	if seg[0]&0x80 != 0 {
		header = 14
	}
	b[2] = 0xc0 // M, D
	if request {
		b[2] = 0xe0 // M, D and R
		header += 28
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(seg)))
	return append(b, seg[:header]...)
}
