package mpa_test

import (
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestRejectedStaysOpen has a responder reject an initiator. Both stop using MPA, and the
// connection stays open for other uses (rfc5044-7.1.2-4, rfc5044-7.1.2-7).
func TestRejectedStaysOpen(t *testing.T) {
	a, b := mpa.TimedPipe()
	defer a.Close()
	defer b.Close()
	answered := make(chan error, 1)
	go func() {
		r, err := mpa.ReadRequest(b)
		if err == nil {
			err = r.Reject(mpa.Config{}, []byte("not you"))
		}
		answered <- err
	}()
	var rejected *mpa.RejectError
	_, err := mpa.Initiate(a, mpa.Config{}, nil)
	if !errors.As(err, &rejected) || string(rejected.PrivateData) != "not you" {
		t.Fatalf("Initiate: %v", err)
	}
	if err := mpa.Await(t, "the responder", answered); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name     string
		from, to net.Conn
	}{{"to the responder", a, b}, {"to the initiator", b, a}} {
		go func() { _, _ = way.from.Write([]byte("still here")) }()
		got := make([]byte, 64)
		if n, err := way.to.Read(got); err != nil || string(got[:n]) != "still here" {
			t.Errorf("%s: read %q, %v", way.name, got[:n], err)
		}
	}
}
