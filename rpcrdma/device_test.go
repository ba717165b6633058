package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestFirstCallEarly: a call comes before the server knows that its connection has been made. It
// finds a receive; without one a device would end the connection.
func TestFirstCallEarly(t *testing.T) {
	l, d := providers["loopback"](t)
	l, _ = transporttest.Device(l, nil)
	goOn := make(chan struct{})
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(newProgram().program())
	served := make(chan error, 1)
	go func() {
		late := delayed{l, func() { <-goOn }}
		served <- rpcrdma.Serve(context.Background(), late, s, rpcrdma.Config{Logger: quiet})
	}()
	ep, err := d.Dial(t.Context(), rigAddr, transport.Private(inline4k.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	p := newRawPeer(t, ep)
	p.send(header(7, rpcrdma.TypeMsg), callBytes(7, procNull, nil)) // until it has been taken
	close(goOn)
	if _, got := p.next(); !bytes.Equal(got, replyHeader(7)) {
		t.Errorf("got %x, want an empty reply", got)
	}
	s.Close()
	if err := wait(t, served); !errors.Is(err, oncrpc.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// TestInvalidateAnnounced: no end tells the other that it may invalidate (RFC 8797 section 4.1)
// if its provider cannot do that.
func TestInvalidateAnnounced(t *testing.T) {
	asDevice = true
	defer func() { asDevice = false }()
	client, server := says(t, rpcrdma.Config{})
	want := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3}
	if !bytes.HasPrefix(client, want) || !bytes.HasPrefix(server, want) { // both are padded
		t.Errorf("a client says % x, a server % x, want % x", client, server, want)
	}
}
