package mpa_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// handshake is the result at both sides.
type handshake struct {
	initiator, responder       *mpa.Setup
	initiatorErr, responderErr error
}

// shake lets a with icfg connect to b with rcfg. Each side sends its name to the other, and closes
// if it fails.
func shake(a, b net.Conn, icfg, rcfg mpa.Config) (h handshake) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var r *mpa.Request
		if r, h.responderErr = mpa.ReadRequest(b); h.responderErr == nil {
			h.responder, h.responderErr = r.Accept(rcfg, []byte("responder"))
		}
		if h.responderErr != nil {
			b.Close()
		}
	}()
	if h.initiator, h.initiatorErr = mpa.Initiate(a, icfg, []byte("initiator")); h.initiatorErr != nil {
		a.Close()
	}
	<-done
	return h
}

// oneByte is a connection whose reads return one byte each.
type oneByte struct{ net.Conn }

func (c oneByte) Read(p []byte) (int, error) { return iotest.OneByteReader(c.Conn).Read(p) }

func startupTCP(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return mpa.Timed(a), mpa.Timed(b)
}

func TestHandshake(t *testing.T) {
	for name, pair := range map[string]func() (net.Conn, net.Conn){
		"pipe": mpa.TimedPipe,
		"pipe, byte by byte": func() (net.Conn, net.Conn) {
			a, b := mpa.TimedPipe()
			return oneByte{a}, oneByte{b}
		},
		"TCP": func() (net.Conn, net.Conn) { return startupTCP(t) },
		"TCP, byte by byte": func() (net.Conn, net.Conn) {
			a, b := startupTCP(t)
			return oneByte{a}, oneByte{b}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair()
			got := shake(a, b, mpa.Config{IRD: 16, ORD: 8, PeerToPeer: true}, mpa.Config{IRD: 4, ORD: 32, CRC: true})
			if got.initiatorErr != nil || got.responderErr != nil {
				t.Fatalf("initiator: %v, responder: %v", got.initiatorErr, got.responderErr)
			}
			if diff := cmp.Diff(&mpa.Setup{
				Setup:    ddp.Setup{Initiator: true, Version: 1, IRD: 16, ORD: 4, RTR: mpa.RTRWrite, PrivateData: []byte("responder")},
				Revision: 2, Enhanced: true, CRC: true, PeerIRD: 4, PeerORD: 16, PeerToPeer: true,
			}, got.initiator); diff != "" {
				t.Errorf("initiator (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&mpa.Setup{
				Setup:    ddp.Setup{Version: 1, IRD: 4, ORD: 16, RTR: mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead, PrivateData: []byte("initiator")},
				Revision: 2, Enhanced: true, CRC: true, PeerIRD: 16, PeerORD: 8, PeerToPeer: true,
			}, got.responder); diff != "" {
				t.Errorf("responder (-want +got):\n%s", diff)
			}
			// Both sides are at the first FPDU.
			for _, dir := range []struct{ from, to net.Conn }{{a, b}, {b, a}} {
				go dir.from.Write([]byte("FPDU"))
				got := make([]byte, 4)
				if _, err := io.ReadFull(dir.to, got); err != nil || string(got) != "FPDU" {
					t.Errorf("got %q, %v, want FPDU", got, err)
				}
			}
		})
	}
}

// A reset without a reply counts like a close without a reply.
func TestInitiateReset(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  mpa.Config
		want error
		not  error
	}{
		{"enhanced", mpa.Config{}, mpa.ErrUnenhanced, nil},
		{"unenhanced", mpa.Config{Enhanced: mpa.EnhancedNever}, syscall.ECONNRESET, mpa.ErrUnenhanced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := startupTCP(t)
			go func() {
				_, _ = mpa.ReadFrame(b, new(mpa.Frame))
				_ = b.(*net.TCPConn).SetLinger(0)
				b.Close()
			}()
			_, err := mpa.Initiate(a, tt.cfg, nil)
			failure{tt.want, mpa.CodeLost, false}.check(t, err)
			if tt.not != nil && errors.Is(err, tt.not) {
				t.Errorf("got %v, which is %v", err, tt.not)
			}
		})
	}
}

// A reset in the middle of a reply does not.
func TestInitiateResetWithin(t *testing.T) {
	reply := repFrame(t, "10 02 0006 00100010 6162")
	for i := range reply {
		conn := &scriptedPeer{in: io.MultiReader(bytes.NewReader(reply[:i]), iotest.ErrReader(syscall.ECONNRESET))}
		_, err := mpa.Initiate(conn, mpa.Config{}, nil)
		failure{syscall.ECONNRESET, mpa.CodeLost, false}.check(t, err)
		if got, want := errors.Is(err, mpa.ErrUnenhanced), i == 0; got != want {
			t.Errorf("after %d bytes: got %v", i, err)
		}
	}
}

// A peer closes, or falls silent, after any number of bytes.
func TestInterrupted(t *testing.T) {
	request := reqFrame(t, "10 02 0007 00100010 616263")
	reply := repFrame(t, "10 02 0007 00100010 616263")
	asInitiator := func(conn net.Conn) error {
		_, err := mpa.Initiate(conn, mpa.Config{IRD: 16, ORD: 16}, nil)
		return err
	}
	asResponder := func(conn net.Conn) error {
		_, err := mpa.ReadRequest(conn)
		return err
	}
	for _, tt := range []struct {
		name  string
		frame []byte
		run   func(net.Conn) error
		close bool
		want  func(sent int) error
	}{
		{"initiator, closed", reply, asInitiator, true, func(sent int) error {
			if sent == 0 {
				return mpa.ErrUnenhanced
			}
			return io.ErrUnexpectedEOF
		}},
		{"responder, closed", request, asResponder, true, func(sent int) error {
			if sent == 0 {
				return io.EOF
			}
			return io.ErrUnexpectedEOF
		}},
		{"initiator, silence", reply, asInitiator, false, func(int) error { return nil }},
		{"responder, silence", request, asResponder, false, func(int) error { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.frame {
				synctest.Test(t, func(t *testing.T) {
					conn, peer := net.Pipe()
					conn.SetDeadline(time.Now().Add(10 * time.Second))
					go func() {
						if bytes.HasPrefix(tt.frame, []byte("MPA ID Rep Frame")) {
							_, _ = mpa.ReadFrame(peer, new(mpa.Frame))
						}
						_, _ = peer.Write(tt.frame[:i])
						if tt.close {
							peer.Close()
						}
					}()
					err := tt.run(conn)
					checkInterrupted(t, i, err, tt.want(i))
				})
			}
		})
	}
}

// checkInterrupted checks the error after i bytes. A want of nil is a timeout.
func checkInterrupted(t *testing.T, i int, err, want error) {
	t.Helper()
	var timeout interface{ Timeout() bool }
	timedOut := errors.As(err, &timeout) && timeout.Timeout()
	switch {
	case want != nil:
		failure{want, mpa.CodeLost, false}.check(t, err)
		if timedOut {
			t.Errorf("after %d bytes: %v is a timeout", i, err)
		}
	case !timedOut || errors.Is(err, mpa.ErrUnenhanced):
		t.Errorf("after %d bytes: got %v, want a timeout", i, err)
	}
}

// The peer reads nothing.
func TestUnread(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(conn, peer net.Conn) error
	}{
		{"request", func(conn, _ net.Conn) error {
			_, err := mpa.Initiate(conn, mpa.Config{}, nil)
			return err
		}},
		{"reply", func(conn, peer net.Conn) error {
			go peer.Write([]byte("MPA ID Req Frame\x00\x01\x00\x00"))
			r, err := mpa.ReadRequest(conn)
			if err != nil {
				return err
			}
			_, err = r.Accept(mpa.Config{}, nil)
			return err
		}},
		{"reject", func(conn, peer net.Conn) error {
			go peer.Write([]byte("MPA ID Req Frame\x00\x01\x00\x00"))
			r, err := mpa.ReadRequest(conn)
			if err != nil {
				return err
			}
			return r.Reject(mpa.Config{}, nil)
		}},
		{"refusal", func(conn, peer net.Conn) error {
			go peer.Write([]byte("MPA ID Req Frame\xc0\x00\x00\x00"))
			r, err := mpa.ReadRequest(conn)
			if err != nil {
				return err
			}
			_, err = r.Accept(mpa.Config{}, nil)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, peer := net.Pipe()
				conn.SetDeadline(time.Now().Add(10 * time.Second))
				checkInterrupted(t, 0, tt.run(conn, peer), nil)
			})
		})
	}
}

// A peer of another protocol that then waits is detected at once: this test sets no deadline.
func TestOtherProtocol(t *testing.T) {
	conn, peer := mpa.TimedPipe()
	go peer.Write([]byte("GET / HTTP/1.1\r\n"))
	_, err := mpa.ReadRequest(conn)
	failure{mpa.ErrNotMPA, mpa.CodeFrame, false}.check(t, err)
	if !saysFrame(err, wrongKey) {
		t.Errorf("got %v, want a wrong key", err)
	}
	conn.Close()
}
