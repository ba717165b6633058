package gsstest

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var services = []gss.Service{gss.None, gss.Integrity, gss.Privacy}

// forServices runs a test for each service.
func forServices(t *testing.T, test func(t *testing.T, s gss.Service)) {
	for _, s := range services {
		t.Run(s.String(), func(t *testing.T) { test(t, s) })
	}
}

// testCalls calls over each transport, with arguments and results of all sizes.
func testCalls(t *testing.T, e Ends) {
	onCarriers(t, func(t *testing.T, over func(*testing.T, *server) dialer) {
		forServices(t, func(t *testing.T, service gss.Service) {
			s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
			f := gss.NewClientFlavor(gss.ClientConfig{
				Initiator: e.Initiator, Target: e.Target, Service: service,
			})
			c := client(connect(t, over(t, s)), f)
			for _, size := range []int{0, 1, 2, 3, 4, 900, 1000, 4000, 5000, 100_001, 1 << 20, maxText} {
				if err := echoes(t, c, size); err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
				want := gss.Caller{Principal: e.Principal, Service: service}
				if got := *s.lastID.Load(); got != want {
					t.Errorf("called by %+v, want %+v", got, want)
				}
			}
			var accept *oncrpc.AcceptError
			err := c.Call(t.Context(), 9, nil, nil)
			if !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
				t.Errorf("procedure 9: %v", err)
			}
			if err := c.Call(t.Context(), 0, nil, nil); err != nil {
				t.Errorf("procedure 0: %v", err)
			}
			if err := f.Close(t.Context(), c); err != nil {
				t.Error(err)
			}
			if got := s.flavor.Stats(); got != (gss.ServerStats{Made: 1, Destroyed: 1}) {
				t.Errorf("%+v", got)
			}
		})
	})
}

// echoes sends size bytes and checks that they come back.
func echoes(t *testing.T, c *oncrpc.Client, size int) error {
	t.Helper()
	args := &text{data: make([]byte, size)}
	for i := range args.data {
		args.data[i] = byte(i * i >> 3)
	}
	res := &text{into: make([]byte, size)}
	err := c.Do(t.Context(), &oncrpc.Request{
		Procedure: procEcho, Args: args, Reply: res, MaxReply: 8, Results: [][]byte{res.into},
	})
	if err == nil && !bytes.Equal(res.data, args.data) {
		t.Errorf("%d bytes came back as %d others", size, len(res.data))
	}
	return err
}

// flipped is the text of the calls in which bits are flipped. The rotation count of a Kerberos
// token (RFC 4121 section 4.2.5) is not protected, and changing it by the token's length has no
// effect. With this text, no such length is a power of two.
const flipped = "hello you"

// testFlipped flips a bit of each byte of a call and checks the answer (RFC 2203 sections 5.3.3.3
// and 5.3.3.4).
func testFlipped(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
		ss := s.establish(t, e, newConn(1))
		args := encoded(flipped)
		const (
			credProblem = "RPCSEC_GSS_CREDPROBLEM"
			badCred     = "AUTH_BADCRED"
			badVerf     = "AUTH_BADVERF"
			garbage     = "GARBAGE_ARGS"
			noHeader    = "GARBAGE_ARGS without verifier"
		)
		seq := uint32(1)
		call, l := ss.call(t, 7, seq, service, procEcho, args)
		padding := l.verf + 8 + len(mustMIC(t, ss, call[:l.verf]))
		want := func(i int) []string {
			c, v := i-l.cred, i-l.verf
			switch {
			case i < 4: // xid
				return []string{credProblem}
			case i < 8: // mtype
				return []string{noHeader}
			case i < 12: // rpcvers
				return []string{"RPC_MISMATCH"}
			case i < 24: // program, version, procedure
				return []string{credProblem}
			case c < 4: // flavour
				return []string{badCred}
			case c < 8: // length of the credential
				return []string{badCred, badVerf, credProblem, noHeader}
			case c < 12: // version
				return []string{badCred}
			case c < 16: // control procedure: not of procedure 0
				return []string{badCred}
			case c < 20: // sequence number
				return []string{credProblem}
			case c < 24: // service
				return []string{badCred, credProblem}
			case c < 28: // length of the handle
				return []string{badCred}
			case v < 0:
				return []string{credProblem}
			case v < 4: // flavour of the verifier
				return []string{credProblem}
			case v < 8: // its length
				return []string{badVerf, credProblem, garbage}
			case i >= l.body:
				return []string{garbage}
			case i >= padding:
				return []string{badVerf}
			}
			return []string{credProblem}
		}
		for i := range l.body {
			for bit := range 8 {
				b := bytes.Clone(call)
				b[i] ^= 1 << bit
				if got := outcome(s.answers(newConn(1), b)); !slices.Contains(want(i), got) {
					t.Errorf("bit %d of byte %d of the header: %s, want %s", bit, i, got, want(i))
				}
			}
		}
		if service != gss.None {
			for i := l.body; i < len(call); i++ {
				seq++
				b, l := ss.call(t, 7, seq, service, procEcho, args)
				b[i] ^= 1 << (i % 8)
				if got := outcome(s.answers(newConn(1), b)); got != garbage {
					t.Errorf("byte %d of the body: %s, want %s", i-l.body, got, garbage)
				}
			}
		}
		if n := s.executed.Load(); n != 0 {
			t.Errorf("%d calls were executed", n)
		}
		// None of them has used up the sequence number.
		got := ss.results(t, s.answers(newConn(1), call), 1, service)
		if !bytes.Equal(got, args) || s.executed.Load() != 1 {
			t.Errorf("the call itself returns %x", got)
		}
		// The server checks the checksum before the number: a forged copy ends no connection.
		c, b := newConn(1), bytes.Clone(call)
		b[padding-1] ^= 1
		if got := outcome(s.answers(c, b)); got != credProblem || c.closed.Load() {
			t.Errorf("forged copy: %s, connection closed %v", got, c.closed.Load())
		}
	})
}

func mustMIC(t *testing.T, c gss.Context, msg []byte) []byte {
	t.Helper()
	mic, err := c.AppendMIC(nil, [][]byte{msg})
	if err != nil {
		t.Fatal(err)
	}
	return mic
}

// testTruncated sends each truncation of a call.
func testTruncated(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
		ss := s.establish(t, e, newConn(1))
		call, l := ss.call(t, 7, 1, service, procEcho, encoded("hello"))
		for n := range call {
			if n >= l.body {
				call, _ = ss.call(t, 7, uint32(n), service, procEcho, encoded("hello"))
			}
			got := outcome(s.answers(newConn(1), call[:n]))
			switch {
			case n < l.body && got != "GARBAGE_ARGS without verifier" && got != "AUTH_BADCRED" && got != "AUTH_BADVERF",
				n >= l.body && got != "GARBAGE_ARGS":
				t.Errorf("%d of %d bytes: %s", n, len(call), got)
			}
		}
	})
}

// testFlippedReply flips a bit of each byte of a reply, and checks that the client rejects it.
func testFlippedReply(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
		f := gss.NewClientFlavor(gss.ClientConfig{
			Initiator: e.Initiator, Target: e.Target, Service: service,
		})
		p := &played{conn: newConn(1), s: s}
		c := client(p, f)
		if err := echoes(t, c, len(flipped)); err != nil {
			t.Fatal(err)
		}
		end := 0
		p.mangle = func(b []byte) []byte { end = len(b); return b }
		if err := echoes(t, c, len(flipped)); err != nil {
			t.Fatal(err)
		}
		if service == gss.None {
			end -= len(encoded(flipped))
		}
		for i := 4; i < end; i++ { // the transaction id is the transport's
			p.mangle = func(b []byte) []byte {
				b[i] ^= 1 << (i % 8)
				return b
			}
			if err := echoes(t, c, len(flipped)); err == nil {
				t.Errorf("byte %d is flipped, and nobody notices", i)
			}
			p.mangle = func(b []byte) []byte { return b[:i] }
			if err := echoes(t, c, len(flipped)); err == nil {
				t.Errorf("reply is cut to %d bytes, and nobody notices", i)
			}
		}
		p.mangle = nil
		if err := echoes(t, c, len(flipped)); err != nil {
			t.Error(err)
		}
	})
}

// testSequence sends sequence numbers in and out of the window (RFC 2203 section 5.3.3.1).
func testSequence(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
		ss := s.establish(t, e, newConn(1))
		w := ss.window
		for _, tt := range []struct {
			seq  uint32
			want string
		}{
			{5, "SUCCESS"},
			{5, "nothing"},
			{3, "SUCCESS"},
			{0, "SUCCESS"},
			{3, "nothing"},
			{w + 5, "SUCCESS"},
			{5, "nothing"},
			{4, "nothing"},
			{6, "SUCCESS"},
			{w + 4, "SUCCESS"},
			{w + 5, "nothing"},
			{6, "nothing"},
			{10 * w, "SUCCESS"},
			{9*w + 1, "SUCCESS"},
			{9 * w, "nothing"},
			{0x80000000, "RPCSEC_GSS_CTXPROBLEM"},
			{0xffffffff, "RPCSEC_GSS_CTXPROBLEM"},
			{10*w + 1, "SUCCESS"},
			{0x7fffffff, "SUCCESS"},
			{0x7fffffff, "nothing"},
			{0x7ffffffe, "SUCCESS"},
		} {
			c := newConn(1)
			call, _ := ss.call(t, 7, tt.seq, service, procEcho, encoded("hello"))
			got := outcome(s.answers(c, call))
			if got != tt.want || c.closed.Load() != (tt.want == "nothing") {
				t.Errorf("%d: %s, connection closed %v; want %s", tt.seq, got, c.closed.Load(), tt.want)
			}
		}
		got := s.flavor.Stats()
		want := gss.ServerStats{
			Contexts: 1, Made: 1, Replays: 5, OutOfWindow: 3, ConnsClosed: 8, Stale: 2,
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// testOthersHandle sends calls with the handle of another context, and bodies of another call or
// service.
func testOthersHandle(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
		mine, yours := s.establish(t, e, newConn(1)), s.establish(t, e, newConn(2))
		if bytes.Equal(mine.handle, yours.handle) {
			t.Fatal("two contexts have one handle")
		}
		mine.handle, yours.handle = yours.handle, mine.handle
		call, _ := mine.call(t, 1, 1, service, procEcho, encoded("hello"))
		if got := outcome(s.answers(newConn(1), call)); got != "RPCSEC_GSS_CREDPROBLEM" {
			t.Errorf("another's handle: %s", got)
		}
		mine.handle, yours.handle = yours.handle, mine.handle
		for i, other := range services {
			number := uint32(10 + i)
			c := cred{1, 0, number, uint32(service), mine.handle}
			b, _ := mine.signed(t, header(1, procEcho, c.body()))
			if other == service && service != gss.None {
				number++ // inside
			}
			b = append(b, mine.protected(t, number, other, encoded("hello"))...)
			got, want := outcome(s.answers(newConn(1), b)), "GARBAGE_ARGS"
			if other == service && service == gss.None {
				want = "SUCCESS"
			}
			if got != want {
				t.Errorf("body of %v: %s, want %s", other, got, want)
			}
		}
	})
}

// testExpired lets a context expire, first for the server, then for a client, which creates
// another.
func testExpired(t *testing.T, e Ends) {
	var ahead time.Duration
	now := func() time.Time { return time.Now().Add(ahead) }
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor, Now: now, IdleTimeout: 1 << 60})
	ss := s.establish(t, e, newConn(1))
	call := func(seq uint32) string {
		b, _ := ss.call(t, 1, seq, gss.Integrity, procEcho, encoded("hello"))
		return outcome(s.answers(newConn(1), b))
	}
	left := time.Until(ss.Expires())
	for _, tt := range []struct {
		ahead time.Duration
		want  string
	}{
		{0, "SUCCESS"},
		{left - 20*time.Second, "SUCCESS"},
		{left + 20*time.Second, "RPCSEC_GSS_CTXPROBLEM"},
		{left + time.Hour, "RPCSEC_GSS_CREDPROBLEM"}, // it was forgotten
	} {
		ahead = tt.ahead
		if tt.want == "RPCSEC_GSS_CREDPROBLEM" {
			s.flavor.Stats()
		}
		if got := call(uint32(tt.ahead/time.Second) + 1); got != tt.want {
			t.Errorf("%v later: %s, want %s", tt.ahead, got, tt.want)
		}
	}
	if got := s.flavor.Stats(); got.Contexts != 0 || got.Expired != 1 || got.Stale != 1 {
		t.Errorf("%+v", got)
	}
}

// testDestroyed destroys a context (RFC 2203 section 5.4).
func testDestroyed(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	ss := s.establish(t, e, newConn(1))
	destroy := func(seq uint32, procedure uint32) []byte {
		c := cred{1, 3, seq, uint32(gss.None), ss.handle}
		b, _ := ss.signed(t, header(1, procedure, c.body()))
		return b
	}
	forged := destroy(1, 0)
	forged[len(forged)-len(mustMIC(t, ss, nil))] ^= 1
	for _, tt := range []struct {
		name string
		call []byte
		want string
	}{
		{"with a wrong checksum", forged, "RPCSEC_GSS_CREDPROBLEM"},
		{"as another procedure", destroy(2, procEcho), "AUTH_BADCRED"},
		{"", destroy(3, 0), "SUCCESS"},
		{"again", destroy(4, 0), "RPCSEC_GSS_CREDPROBLEM"},
	} {
		reply := s.answers(newConn(1), tt.call)
		if got := outcome(reply); got != tt.want {
			t.Errorf("destroyed %s: %s, want %s", tt.name, got, tt.want)
		} else if got == "SUCCESS" {
			if res := ss.results(t, reply, 3, gss.None); len(res) > 0 {
				t.Errorf("results %x", res)
			}
		}
	}
	if got := s.flavor.Stats(); got.Contexts != 0 || got.Destroyed != 1 {
		t.Errorf("%+v", got)
	}
}

// testForgotten makes the server forget a context, and checks that the client creates another.
func testForgotten(t *testing.T, e Ends) {
	forServices(t, func(t *testing.T, service gss.Service) {
		var ahead time.Duration
		now := func() time.Time { return time.Now().Add(ahead) }
		p := &played{conn: newConn(1), s: newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})}
		f := gss.NewClientFlavor(gss.ClientConfig{
			Initiator: e.Initiator, Target: e.Target, Service: service,
		})
		c := client(p, f)
		if err := echoes(t, c, 5); err != nil {
			t.Fatal(err)
		}
		// The server restarts.
		p.s = newServer(t, gss.ServerConfig{Acceptor: e.Acceptor, Now: now, IdleTimeout: 1 << 60})
		if err := echoes(t, c, 5); err != nil {
			t.Error(err)
		}
		if got := p.s.flavor.Stats(); got.Unknown != 1 || got.Made != 1 {
			t.Errorf("%+v", got)
		}
		// The server treats the context as expired, but not the next one.
		_, end := pair(t, e)
		ahead = time.Until(end.Expires()) + time.Hour
		p.mangle = func(b []byte) []byte { ahead = 0; return b }
		if err := echoes(t, c, 5); err != nil {
			t.Error(err)
		}
		if got := p.s.flavor.Stats(); got.Stale+got.Unknown != 2 || got.Made != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// testHosts creates more contexts from a host than it may have, and lets strangers try. Neither may
// harm others.
func testHosts(t *testing.T, e Ends) {
	const most = 8
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor, MaxContexts: most})
	bystander := s.establish(t, e, newConn(2))
	first := s.establish(t, e, newConn(1))
	var last *session
	for range 5 * most {
		last = s.establish(t, e, newConn(1))
		if got := s.flavor.Stats(); got.Contexts > most {
			t.Fatalf("%d contexts", got.Contexts)
		}
	}
	for range 5 * most {
		token := firstToken(t, e.Stranger, e.Target)
		refused(t, decodeCreated(t, s.answers(newConn(3), creation(&cred{version: 1, proc: 1}, token))))
	}
	for _, tt := range []struct {
		name string
		ss   *session
		want string
	}{
		{"the bystander's", bystander, "SUCCESS"},
		{"the first", first, "RPCSEC_GSS_CREDPROBLEM"},
		{"the last", last, "SUCCESS"},
	} {
		call, _ := tt.ss.call(t, 1, 1, gss.Integrity, procEcho, encoded("hello"))
		if got := outcome(s.answers(newConn(9), call)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	got := s.flavor.Stats()
	if int(got.Evicted) != 5*most+2-got.Contexts || got.Refused != 5*most || got.HalfMade != 0 {
		t.Errorf("%+v", got)
	}
}

// counted is the result of procCount.
type counted struct{ n uint32 }

func (c *counted) UnmarshalXDR(d *xdr.Decoder) { c.n = d.Uint32() }

// testRepeated loses a reply. The call is sent again over another connection, signed anew, and must
// be executed once.
func testRepeated(t *testing.T, e Ends) {
	onCarriers(t, func(t *testing.T, over func(*testing.T, *server) dialer) {
		forServices(t, func(t *testing.T, service gss.Service) {
			s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
			dial := over(t, s)
			conn, err := redial.New(t.Context(), redial.DialFunc(dial),
				redial.Config{Wait: time.Minute, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				conn.Close()
				<-conn.Done()
			}()
			f := gss.NewClientFlavor(gss.ClientConfig{
				Initiator: e.Initiator, Target: e.Target, Service: service,
			})
			s.lose.Store(true)
			var res counted
			r := oncrpc.Request{Procedure: procCount, Reply: &res, MayRepeat: true}
			if err := client(conn, f).Do(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
			if n := s.executed.Load(); n != 1 || res.n != 1 || !r.Repeated {
				t.Errorf("executed %d times, result %d, repeated %v", n, res.n, r.Repeated)
			}
			if got := s.flavor.Stats(); got != (gss.ServerStats{Contexts: 1, Made: 1}) {
				t.Errorf("%+v", got)
			}
			if got := s.Stats().Replayed; got != 1 {
				t.Errorf("%d replies came from the cache", got)
			}
		})
	})
}

// testOtherService repeats a call with another service. That is no copy: the kept reply may be
// meant only for callers who can decrypt it.
func testOtherService(t *testing.T, e Ends) {
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	ss := s.establish(t, e, newConn(1))
	for i, tt := range []struct {
		service  gss.Service
		executed uint32
	}{
		{gss.Privacy, 1},
		{gss.None, 2},
		{gss.Integrity, 3},
		{gss.Privacy, 1},
		{gss.None, 2},
		{gss.Integrity, 3},
	} {
		seq := uint32(1000 + i) // zeros would be found in the header of a token
		call, _ := ss.call(t, 7, seq, tt.service, procCount, nil)
		got := ss.results(t, s.answers(newConn(1), call), seq, tt.service)
		if !bytes.Equal(got, word(nil, tt.executed)) {
			t.Errorf("call %d, %v: results %x, want %d", i, tt.service, got, tt.executed)
		}
	}
}

// testReplayed sends copies of a call at once, and checks that it is executed once.
func testReplayed(t *testing.T, e Ends) {
	const copies = 32
	s := newServer(t, gss.ServerConfig{Acceptor: e.Acceptor})
	ss := s.establish(t, e, newConn(1))
	for seq := range uint32(20) {
		call, _ := ss.call(t, seq, seq, gss.Integrity, procEcho, encoded("hello"))
		var all sync.WaitGroup
		for range copies {
			all.Go(func() { s.answers(newConn(1), call) })
		}
		all.Wait()
		if n := s.executed.Load(); n != int32(seq)+1 {
			t.Fatalf("%d calls were executed %d times", seq+1, n)
		}
	}
	if got := s.flavor.Stats(); got.Replays != 20*(copies-1) || got.BadMICs != 0 {
		t.Errorf("%+v", got)
	}
}
