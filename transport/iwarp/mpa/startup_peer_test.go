package mpa_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// initiateTo runs Initiate against a peer that reads the whole request, writes reply and closes. It
// returns what the peer read.
func initiateTo(t testing.TB, cfg mpa.Config, private, reply []byte) (said []byte, s *mpa.Setup, err error) {
	t.Helper()
	conn, peer := mpa.TimedPipe()
	read := make(chan []byte, 1)
	go func() {
		var f mpa.Frame
		if _, err := mpa.ReadFrame(peer, &f); err != nil {
			read <- nil
			return
		}
		b, _ := f.Append(nil)
		_, _ = peer.Write(reply)
		peer.Close()
		read <- b
	}()
	s, err = mpa.Initiate(conn, cfg, private)
	conn.Close()
	return mpa.Await(t, "the peer", read), s, err
}

// answerTo lets answer serve a peer that sends request and reads until the connection is closed. It
// returns what the peer read.
func answerTo(t testing.TB, request []byte, answer func(net.Conn)) (said []byte) {
	t.Helper()
	conn, peer := mpa.TimedPipe()
	read := make(chan []byte, 1)
	go func() {
		_, _ = peer.Write(request)
		b, _ := io.ReadAll(peer)
		read <- b
	}()
	answer(conn)
	conn.Close()
	return mpa.Await(t, "the peer", read)
}

// acceptFrom runs ReadRequest and Accept against such a peer.
func acceptFrom(t testing.TB, request []byte, cfg mpa.Config, private []byte) (said []byte, s *mpa.Setup, err error) {
	t.Helper()
	said = answerTo(t, request, func(conn net.Conn) {
		var r *mpa.Request
		if r, err = mpa.ReadRequest(conn); err == nil {
			s, err = r.Accept(cfg, private)
		}
	})
	return said, s, err
}

// allRTR is every kind of RTR.
const allRTR = mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead

// failure is an expected *StartupError.
type failure struct {
	is        error
	code      uint8
	terminate bool
}

func (f failure) check(t testing.TB, err error) {
	t.Helper()
	var got *mpa.StartupError
	switch {
	case !errors.As(err, &got):
		t.Errorf("got error %v, want a StartupError with %v", err, f.is)
	case !errors.Is(err, f.is):
		t.Errorf("got error %v, want %v", err, f.is)
	case got.Code != f.code || got.Terminate != f.terminate:
		t.Errorf("%v: got code %d, terminate %t, want %d, %t", err, got.Code, got.Terminate, f.code, f.terminate)
	}
}
