package sctp

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// TestDialerClose: when Close has returned, the association has ended.
func TestDialerClose(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	l, err := Listen(t.Context(), "127.0.0.1:0", Config{UDPPort: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := NewDialer(Config{UDPPort: int(l.Addr().(Addr).UDPPort), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil { // there is a session, so nothing is waited for
		t.Error(err)
	}
	a := conn.(*Conn).a
	select {
	case <-a.over:
		t.Fatal("an association with a session has ended")
	default:
	}
	conn.Close()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.over:
	default:
		t.Error("the association has not ended")
	}
}
