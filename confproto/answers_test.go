package confproto

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// answering is a server's program that gives an answer of the test's.
func answering(handler oncrpc.Handler) oncrpc.Program {
	return oncrpc.Program{Number: Program, Version: Version, Procedures: []oncrpc.Procedure{ProcConfigure: {Handler: handler}}}
}

// TestAnswers: a client copes with every answer that a server may give.
func TestAnswers(t *testing.T) {
	const most = math.MaxUint32
	for _, tt := range []struct {
		name   string
		answer Reply
		want   rpcrdma.Settings
		pad    int // in front of data behind 84 bytes
	}{
		{"smaller than asked", Reply{2048, 0, 2}, rpcrdma.Settings{MaxSend: 2048, Reads: 2}, 0},
		{"larger than asked", Reply{40_000, 0, 16}, rpcrdma.Settings{MaxSend: 40_000, Reads: 16}, 0},
		{"nothing", Reply{}, rpcrdma.Settings{MaxSend: 1024, Reads: 0}, 0},
		{"one of each", Reply{1, 1, 1}, rpcrdma.Settings{MaxSend: 1024, Reads: 1}, 0},
		{"below the basic level", Reply{1023, 0, 1}, rpcrdma.Settings{MaxSend: 1024, Reads: 1}, 0},
		{"the basic level", Reply{1024, 0, 1}, rpcrdma.Settings{MaxSend: 1024, Reads: 1}, 0},
		{"no whole words", Reply{8191, 0, 16}, rpcrdma.Settings{MaxSend: 8191, Reads: 16}, 0},
		{"the most", Reply{most, most, most}, rpcrdma.Settings{MaxSend: 65536, Reads: 16}, 0},
		{"negative, taken for signed", Reply{1 << 31, 1 << 31, 1 << 31}, rpcrdma.Settings{MaxSend: 65536, Reads: 16}, 0},
		{"aligned", Reply{8192, 512, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16, PeerAlign: 512}, 512 - 84},
		{"aligned to the least", Reply{8192, 8, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16, PeerAlign: 8}, 4},
		{"aligned to pages", Reply{8192, 4096, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16, PeerAlign: 4096}, 4096 - 84},
		{"aligned to bytes", Reply{8192, 1, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16}, 0},
		{"aligned to XDR's units", Reply{8192, 4, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16}, 0},
		{"aligned to 3", Reply{8192, 3, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16}, 0},
		{"aligned to no power of two", Reply{8192, 768, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16}, 0},
		{"aligned beyond the message", Reply{8192, 16384, 16}, rpcrdma.Settings{MaxSend: 8192, Reads: 16}, 0},
		{"aligned to 2 GiB", Reply{65536, 1 << 31, 16}, rpcrdma.Settings{MaxSend: 65536, Reads: 16}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				r := newRig(t, p, setup{server: rpcrdma.Config{Dialect: rpcrdma.Draft, InlineRecv: rpcrdma.MaxInline}, programs: []oncrpc.Program{
					answering(func(_ context.Context, c *oncrpc.Call) error {
						tt.answer.MarshalXDR(c.Results)
						return nil
					}),
				}})
				c := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
				got, err := Configure(t.Context(), c.Conn, Options{MaxCall: 8192, MaxReply: 8192})
				if err != nil || got != tt.answer {
					t.Fatalf("got %+v, %v, want %+v", got, err, tt.answer)
				}
				tt.want.MaxRecv, tt.want.PeerReads = 8192, 16
				// what concerns the server's calls is as it was
				tt.want.MaxCallRecv, tt.want.MaxReplySend = 4096, 4096
				if is := c.Settings(); is != tt.want {
					t.Errorf("in force is %+v, want %+v", is, tt.want)
				}
				for _, n := range []int{0, 900, 5000, 70_000} {
					if err := c.exchange(n, 100); err != nil {
						t.Errorf("call of %d bytes: %v", n, err)
					}
				}
				whole := tt.want.MaxSend &^ 3
				if i := c.info(whole-callRoom, 0); i.ReadChunk != 0 {
					t.Errorf("a call of %d bytes is not sent inline: %+v", whole, i)
				}
				if i := c.info(whole-callRoom+4, 0); i.ReadChunk == 0 {
					t.Errorf("a call of %d bytes is sent inline: %+v", whole+4, i)
				}
				if got := c.padding(); got != tt.pad {
					t.Errorf("%d bytes of padding, want %d", got, tt.pad)
				}
			})
		})
	}
}

// TestNoAnswers: a call without a valid answer leaves the connection as it is.
func TestNoAnswers(t *testing.T) {
	for _, tt := range []struct {
		name        string
		handler     oncrpc.Handler
		unavailable bool
		is          func(error) bool
	}{
		{"procedure unavailable", func(context.Context, *oncrpc.Call) error { return oncrpc.ErrProcUnavail }, true, answers(oncrpc.ProcUnavail)},
		{"program unavailable", func(context.Context, *oncrpc.Call) error { return &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail} }, true, answers(oncrpc.ProgUnavail)},
		{"version mismatch", func(context.Context, *oncrpc.Call) error {
			return &oncrpc.AcceptError{Stat: oncrpc.ProgMismatch, Low: 2, High: 3}
		}, true, answers(oncrpc.ProgMismatch)},
		{"garbage", func(context.Context, *oncrpc.Call) error { return oncrpc.ErrGarbageArgs }, false, answers(oncrpc.GarbageArgs)},
		{"failure", func(context.Context, *oncrpc.Call) error { return errors.New("it failed") }, false, answers(oncrpc.SystemErr)},
		{"denial", func(context.Context, *oncrpc.Call) error { return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak} }, false, denied},
		{"too short", func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Uint64(4096 << 32)
			return nil
		}, false, malformed},
		{"too long", func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Fixed(make([]byte, messageLen+4))
			return nil
		}, false, malformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				r := newRig(t, p, setup{programs: []oncrpc.Program{answering(tt.handler)}})
				c := r.dial(rpcrdma.Config{})
				was := c.Settings()
				_, err := Configure(t.Context(), c.Conn, Options{})
				if !tt.is(err) || errors.Is(err, ErrUnavailable) != tt.unavailable {
					t.Errorf("got %v", err)
				}
				if is := c.Settings(); is != was {
					t.Errorf("in force is %+v, want %+v", is, was)
				}
				c.checkSizes(4096, 4096)
			})
		})
	}
}

func answers(stat oncrpc.AcceptStat) func(error) bool {
	return func(err error) bool {
		var accept *oncrpc.AcceptError
		return errors.As(err, &accept) && accept.Stat == stat
	}
}

func denied(err error) bool {
	var auth *oncrpc.AuthError
	return errors.As(err, &auth) && auth.Stat == oncrpc.AuthTooWeak
}

func malformed(err error) bool { return errors.Is(err, oncrpc.ErrMalformedReply) }

// TestNoProgram: most servers do not have the program. All settings stay as they were, and other
// calls work.
func TestNoProgram(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		for _, tt := range []struct {
			cfg  rpcrdma.Config
			size int
		}{{rpcrdma.Config{}, 4096}, {rpcrdma.Config{NoPrivateData: true}, 1024}} {
			r := newRig(t, p, setup{server: tt.cfg})
			c := r.dial(tt.cfg)
			was := c.Settings()
			if _, err := Configure(t.Context(), c.Conn, Options{}); !errors.Is(err, ErrUnavailable) || !answers(oncrpc.ProgUnavail)(err) {
				t.Errorf("got %v, want %v", err, ErrUnavailable)
			}
			if is := c.Settings(); is != was {
				t.Errorf("in force is %+v, want %+v", is, was)
			}
			c.checkSizes(tt.size, tt.size)
		}
	})
}

// TestProgramNumber: the program answers only under the number under which it is served.
func TestProgramNumber(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		for number, other := range map[uint32]uint32{Program: ProgramRFC5666, ProgramRFC5666: Program, 400_001: Program} {
			r := newRig(t, p, setup{programs: []oncrpc.Program{New(Config{Program: number})}})
			c := r.dial(rpcrdma.Config{})
			if _, err := Configure(t.Context(), c.Conn, Options{Program: other}); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%d at a server of %d: got %v, want %v", other, number, err, ErrUnavailable)
			}
			if got, err := Configure(t.Context(), c.Conn, Options{Program: number}); err != nil || got.MaxCallSendSize != 32768 {
				t.Errorf("%d: got %+v, %v", number, got, err)
			}
		}
	})
	if got := [...]uint32{Program, ProgramRFC5666, Version, ProcConfigure, New(Config{}).Number}; got != [...]uint32{100400, 100417, 1, 1, 100400} {
		t.Errorf("got %v", got)
	}
}

// request calls CONF_RDMA with arguments of the test's.
func (c *client) request(args oncrpc.Marshaler) (reply Reply, err error) {
	err = oncrpc.NewClient(c, Program, Version, oncrpc.AuthNone()).Call(c.t.Context(), ProcConfigure, args, &reply)
	return reply, err
}

// TestRequests: a server copes with every request that a client may make. It sends replies inline
// exactly up to the size asked for.
func TestRequests(t *testing.T) {
	const most = math.MaxUint32
	for _, tt := range []struct {
		name string
		in   Request
		want Reply
		is   rpcrdma.Settings
	}{
		{"nothing", Request{}, Reply{4096, 0, 16}, rpcrdma.Settings{MaxCallRecv: 4096, MaxReplySend: 1024, Reads: 0}},
		{"one of each", Request{1, 1, 1}, Reply{4096, 0, 16}, rpcrdma.Settings{MaxCallRecv: 4096, MaxReplySend: 1024, Reads: 1}},
		{"the basic level", Request{1024, 1024, 1}, Reply{4096, 0, 16}, rpcrdma.Settings{MaxCallRecv: 4096, MaxReplySend: 1024, Reads: 1}},
		{"below the basic level", Request{1023, 1023, 1}, Reply{4096, 0, 16}, rpcrdma.Settings{MaxCallRecv: 4096, MaxReplySend: 1024, Reads: 1}},
		{"odd", Request{5001, 5003, 7}, Reply{5001, 0, 16}, rpcrdma.Settings{MaxCallRecv: 5001, MaxReplySend: 5003, Reads: 7}},
		{"the most", Request{most, most, most}, Reply{32768, 0, 16}, rpcrdma.Settings{MaxCallRecv: 32768, MaxReplySend: 65536, Reads: 16}},
		{"negative, taken for signed", Request{1 << 31, 1 << 31, 1 << 31}, Reply{32768, 0, 16}, rpcrdma.Settings{MaxCallRecv: 32768, MaxReplySend: 65536, Reads: 16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineRecv: rpcrdma.MaxInline}
				r := newRig(t, p, setup{server: rpcrdma.Config{Dialect: rpcrdma.Draft}, programs: []oncrpc.Program{New(Config{})}})
				c := r.dial(cfg)
				if got, err := c.request(&tt.in); err != nil || got != tt.want {
					t.Fatalf("got %+v, %v, want %+v", got, err, tt.want)
				}
				// A client that offers no chunks, so that what is too long is left to be read.
				c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxRecv = rpcrdma.MaxInline })
				whole := tt.is.MaxReplySend &^ 3
				if i := c.info(0, whole-replyRoom); i.InlineReceived != whole-28 {
					t.Errorf("a reply of %d bytes does not come inline: %+v", whole, i)
				}
				if whole < rpcrdma.MaxInline {
					if i := c.info(0, whole-replyRoom+4); i.ReplyRead == 0 || i.InlineReceived != 0 {
						t.Errorf("a reply of %d bytes comes inline: %+v", whole+4, i)
					}
				}
				tt.is.PeerReads = 16
				// what concerns the server's calls is as it was
				tt.is.MaxSend, tt.is.MaxRecv = 4096, 4096
				if is := r.peer(c).Settings(); is != tt.is {
					t.Errorf("in force is %+v, want %+v", is, tt.is)
				}
				if err := c.exchange(900, 60_000); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLogged: each agreement is logged at level DEBUG, with the server's settings afterwards.
// Refused requests are not logged.
func TestLogged(t *testing.T) {
	var log bytes.Buffer
	program := New(Config{MaxCall: 8192, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := newRig(t, providers[1], setup{server: rpcrdma.Config{Dialect: rpcrdma.Draft, InlineRecv: 8192, Align: 1024}, programs: []oncrpc.Program{program}})
	c := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
	if _, err := c.request(words{8192}); !answers(oncrpc.GarbageArgs)(err) {
		t.Errorf("got %v, want GARBAGE_ARGS", err)
	}
	if _, err := c.request(&Request{16384, 5000, 7}); err != nil {
		t.Fatal(err)
	}
	want := `level=DEBUG msg="confproto: CONF_RDMA" peer=` + c.LocalAddr().String() + " max_call=8192 max_reply=5000 reads=7 peer_reads=16 align=1024\n"
	if got := log.String(); !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestRequestReadsNone: a client that serves no RDMA Reads cannot send read chunks. The server says
// so, and the connection stays.
func TestRequestReadsNone(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		r := newRig(t, p, setup{programs: []oncrpc.Program{New(Config{})}})
		c := r.dial(rpcrdma.Config{})
		if err := c.exchange(50_000, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.request(&Request{4096, 4096, 0}); err != nil {
			t.Fatal(err)
		}
		var peer *rpcrdma.PeerError
		if err := c.exchange(50_000, 0); !errors.As(err, &peer) || peer.Code != rpcrdma.ErrChunk {
			t.Errorf("a call with a read chunk: got %v, want ERR_CHUNK", err)
		}
		if err := c.exchange(3000, 3000); err != nil {
			t.Errorf("a call without: %v", err)
		}
		if _, err := c.request(&Request{4096, 4096, 1}); err != nil {
			t.Fatal(err)
		}
		if err := c.exchange(50_000, 0); err != nil {
			t.Errorf("a call with a read chunk, when there is one Read: %v", err)
		}
	})
}

// words is arguments of any number of words.
type words []uint32

func (w words) MarshalXDR(e *xdr.Encoder) {
	for _, v := range w {
		e.Uint32(v)
	}
}

// TestRequestsGarbage: arguments that are too short or too long change nothing.
func TestRequestsGarbage(t *testing.T) {
	onProviders(t, func(t *testing.T, p provider) {
		r := newRig(t, p, setup{programs: []oncrpc.Program{New(Config{})}})
		c := r.dial(rpcrdma.Config{})
		was := r.peer(c).Settings()
		for _, args := range []words{nil, {8192}, {8192, 8192}, {8192, 8192, 4, 0}} {
			if _, err := c.request(args); !answers(oncrpc.GarbageArgs)(err) {
				t.Errorf("%d words: got %v, want GARBAGE_ARGS", len(args), err)
			}
		}
		if is := r.peer(c).Settings(); is != was {
			t.Errorf("in force is %+v, want %+v", is, was)
		}
	})
}

// TestPolicy: a caller that may not configure gets an error, and changes nothing.
func TestPolicy(t *testing.T) {
	sys, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "client"})
	if err != nil {
		t.Fatal(err)
	}
	here, there := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("192.0.2.0/24")
	for _, tt := range []struct {
		name string
		cfg  Config
		cred oncrpc.ClientFlavor
		want map[string]bool // by provider
	}{
		{"anybody", Config{}, oncrpc.AuthNone(), map[string]bool{"loopback": true, "iwarp": true}},
		{"AUTH_SYS as demanded", Config{Flavors: []oncrpc.AuthFlavor{oncrpc.FlavorSys}}, sys, map[string]bool{"loopback": true, "iwarp": true}},
		{"AUTH_NONE where AUTH_SYS is demanded", Config{Flavors: []oncrpc.AuthFlavor{oncrpc.FlavorSys}}, oncrpc.AuthNone(), nil},
		{"RPCSEC_GSS is demanded", Config{Flavors: []oncrpc.AuthFlavor{oncrpc.FlavorGSS}}, sys, nil},
		{"no flavour will do", Config{Flavors: []oncrpc.AuthFlavor{}}, sys, nil},
		// What has no address is in no network.
		{"a client of the network", Config{Clients: []netip.Prefix{there, here}}, sys, map[string]bool{"iwarp": true}},
		{"a client of another network", Config{Clients: []netip.Prefix{there}}, sys, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onProviders(t, func(t *testing.T, p provider) {
				r := newRig(t, p, setup{programs: []oncrpc.Program{New(tt.cfg)}})
				c := r.dial(rpcrdma.Config{})
				was := c.Settings()
				_, err := Configure(t.Context(), c.Conn, Options{Flavor: tt.cred})
				if tt.want[p.name] {
					if err != nil || c.Settings() == was {
						t.Errorf("got %v; in force is %+v", err, c.Settings())
					}
					return
				}
				if !denied(err) || errors.Is(err, ErrUnavailable) {
					t.Errorf("got %v, want AUTH_TOOWEAK", err)
				}
				if is := c.Settings(); is != was {
					t.Errorf("in force is %+v, want %+v", is, was)
				}
				if is := r.peer(c).Settings(); is.MaxReplySend != 4096 || is.MaxCallRecv != 4096 {
					t.Errorf("the server has %+v in force", is)
				}
				// Its null procedure is everybody's (RFC 5531 section 12.1).
				if err := oncrpc.NewClient(c, Program, Version, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
					t.Errorf("NULL: %v", err)
				}
			})
		})
	}
}

// TestOverTCP: on a connection without RDMA the program is unavailable.
func TestOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	server.Handle(New(Config{}))
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, server, recordmark.Config{Logger: quiet}) }()
	defer func() {
		server.Close()
		wait(t, served)
	}()
	conn, err := recordmark.Dial(t.Context(), l.Addr().String(),
		recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		wait(t, conn.Done())
	}()
	c := oncrpc.NewClient(conn, Program, Version, oncrpc.AuthNone())
	if err := c.Call(t.Context(), 0, nil, nil); !answers(oncrpc.ProgUnavail)(err) {
		t.Errorf("NULL: got %v, want PROG_UNAVAIL", err)
	}
	if err := c.Call(t.Context(), ProcConfigure, &Request{4096, 4096, 1}, new(Reply)); !answers(oncrpc.ProgUnavail)(err) {
		t.Errorf("CONF_RDMA: got %v, want PROG_UNAVAIL", err)
	}
}
