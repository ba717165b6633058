package iwarp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// pipeConfig is for connections over pipes with scripted peers.
func pipeConfig() iwarp.Config {
	return iwarp.Config{CRC: iwarp.CRCOff, NudgeAfter: -1, Counters: new(iwarp.Counters),
		Logger: quiet}
}

// dialPipe makes a dialer connect over a pipe. The peer answers the request with reply.
func dialPipe(t *testing.T, cfg iwarp.Config, reply []byte) (*local, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	d := iwarp.Dialer{Config: cfg, DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
	answered := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(theirs, make([]byte, len(requestFrame(0x10, 2, clientServer))))
		if err == nil {
			_, err = theirs.Write(reply)
		}
		answered <- err
	}()
	ep, err := d.Dial(t.Context(), "a pipe", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	return newLocal(t, ep), theirs
}

// TestPipeClientServer has both ends of a pipe write at the same time, in the client-server model.
// Each Write waits until the peer has read all of it, and neither end stops reading because of
// that.
func TestPipeClientServer(t *testing.T) {
	const size, count = 1 << 20, 20
	b := lowerLayer{"pipe", listenPipe}
	l, d := b.open(t, pipeConfig())
	dialed := make(chan dialResult, 1)
	go func() {
		ep, err := d.Dial(t.Context(), "", nil)
		dialed <- dialResult{ep, err}
	}()
	req, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := req.Accept(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := hang.Receive(t, "Dial", dialed)
	if dial.err != nil {
		t.Fatal(dial.err)
	}
	ends := []*local{newLocal(t, dial.ep), newLocal(t, accepted)}
	for _, e := range ends {
		for range count {
			if err := e.PostRecv(&transport.RecvRequest{Local: slices(make([]byte, size))}); err != nil {
				t.Fatal(err)
			}
		}
		e.start()
	}
	want := strings.Repeat("a mebibyte each ", size/16)
	var all sync.WaitGroup
	for _, e := range ends {
		all.Go(func() {
			for range count {
				wr := &transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
					Local: slices([]byte(want)), Done: e}
				if err := e.Post(wr); err != nil {
					t.Errorf("Post: %v", err)
				}
			}
		})
	}
	all.Wait()
	for _, e := range ends {
		for range count {
			if got := hang.Receive(t, "message", e.messages); got != want {
				t.Fatalf("a message of %d bytes is not what was sent", len(got))
			}
			if err := hang.Receive(t, "completion", e.completions); err != nil {
				t.Errorf("Send: %v", err)
			}
		}
	}
}

// TestPipeStall has a peer that takes a KiB each second, as it must, until it takes nothing; and
// one that always takes less, but not nothing.
func TestPipeStall(t *testing.T) {
	const most = 5 * time.Minute / 4 // five quarters of StallTimeout
	for _, tt := range []struct {
		name  string
		takes int // bytes per second
		stays bool
	}{
		{"slow", 1 << 10, true},
		{"trickling", 800, false},
		{"nothing", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := pipeConfig()
				cfg.StallTimeout = time.Minute
				l, theirs := dialPipe(t, cfg, replyFrame(0x10, 2, clientServer))
				defer theirs.Close()
				l.start()
				l.post(&transport.WorkRequest{
					Op: transport.OpSend, Local: slices(make([]byte, 1<<20)),
				})
				began := time.Now()
				for time.Since(began) < 5*time.Minute && l.Err() == nil {
					if _, err := io.ReadFull(theirs, make([]byte, tt.takes)); err != nil {
						break
					}
					time.Sleep(time.Second)
				}
				if stays := l.Err() == nil; stays != tt.stays {
					t.Errorf("the connection stays: %v, want %v: %v", stays, tt.stays, l.Err())
				}
				if tt.stays {
					began = time.Now()
				}
				<-l.Done()
				if err := l.Err(); !errors.Is(err, mpa.ErrStalled) {
					t.Errorf("ended with %v, want %v", err, mpa.ErrStalled)
				}
				if took := time.Since(began); took > most+time.Second {
					t.Errorf("the peer was given %v, want %v at most", took, most)
				}
			})
		})
	}
}

// TestPipeStops has a peer that stops in the middle of an FPDU.
func TestPipeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, theirs := dialPipe(t, pipeConfig(), replyFrame(0x10, 2, clientServer))
		defer theirs.Close()
		l.start()
		if _, err := theirs.Write([]byte{0, 100, 0x40}); err != nil {
			t.Fatal(err)
		}
		<-l.Done()
		if err := l.Err(); !errors.Is(err, mpa.ErrStalled) {
			t.Errorf("ended with %v, want %v", err, mpa.ErrStalled)
		}
	})
}

// TestPipeTerminate has a peer break the protocol while a Write waits for it. It gets the rest of
// the current FPDU, the Terminate message, and the end of the connection.
func TestPipeTerminate(t *testing.T) {
	l, theirs := dialPipe(t, pipeConfig(), replyFrame(0x10, 2, clientServer))
	l.start()
	l.post(&transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 7, Offset: 8}, Local: slices(bytes.Repeat([]byte{'x'}, 100))})
	got := make([]byte, 10)
	if _, err := io.ReadFull(theirs, got); err != nil {
		t.Fatal(err)
	}
	// An FPDU of a tagged segment of version 1, to a steering tag that does not exist.
	bad := []byte{0, 15, 0xc1, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0}
	if _, err := theirs.Write(bad); err != nil {
		t.Fatal(err)
	}
	<-l.Done()
	rest := make([]byte, 2+14+100+4-len(got)+2+18+20+4)
	if _, err := io.ReadFull(theirs, rest); err != nil {
		t.Fatal(err)
	}
	words := rest[len(rest)-44:]
	want := []byte{0, 38, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x11, 0,
		0xc0, 0, 0, 15}
	if !bytes.Equal(words[:len(want)], want) {
		t.Errorf("last words: got % x, want % x...", words, want)
	}
	theirs.Close() // our end waits for this
}

// TestPipeClosed has an end close a connection without CloseWrite. The peer learns it at once.
func TestPipeClosed(t *testing.T) {
	l, theirs := dialPipe(t, pipeConfig(), replyFrame(0x10, 2, clientServer))
	l.start()
	l.Close()
	if n, err := theirs.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer reads %d bytes, %v, want %v", n, err, io.EOF)
	}
}

// TestPipeWriteClosed has a peer close a pipe to which an end writes.
func TestPipeWriteClosed(t *testing.T) {
	l, theirs := dialPipe(t, pipeConfig(), replyFrame(0x10, 2, clientServer))
	l.start()
	l.send("nobody reads this")
	theirs.Close()
	if err := l.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
		t.Errorf("ended with %v, want %v", err, transport.ErrClosedByPeer)
	}
	if err := hang.Receive(t, "completion", l.completions); !errors.Is(err, transport.ErrFlushed) {
		t.Errorf("the Send has completed with %v, want %v", err, transport.ErrFlushed)
	}
}

// TestDialContext has a dialer use the given function: twice, if the peer turns out not to know
// enhanced setup.
func TestDialContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "of the caller")
	failed := errors.New("nobody there")
	calls := 0
	d := iwarp.Dialer{Config: pipeConfig(), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if ctx.Value(key{}) != "of the caller" || network != "tcp" || addr != "host:20049" {
			t.Errorf("got context value %v, network %q, address %q", ctx.Value(key{}), network,
				addr)
		}
		if calls++; calls == 2 {
			return nil, failed
		}
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Read(make([]byte, 1))
			theirs.Close()
		}()
		return ours, nil
	}}
	if _, err := d.Dial(ctx, "host:20049", nil); !errors.Is(err, failed) || calls != 2 {
		t.Errorf("Dial: got %v after %d calls, want %v after 2", err, calls, failed)
	}
}
