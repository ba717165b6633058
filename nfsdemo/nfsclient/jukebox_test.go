package nfsclient_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// busy is a transport whose server asks the client to try again later. It records the times of
// calls.
type busy struct {
	*pipe.Conn
	left  int // number of such answers; negative: for ever
	calls []time.Duration
	begun time.Time
}

func (b *busy) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	b.calls = append(b.calls, time.Since(b.begun))
	if b.left == 0 {
		return b.Conn.RoundTrip(ctx, x)
	}
	b.left--
	reply := make([]byte, 28) // accepted, SUCCESS, the status; enough of GETATTR's failure
	binary.BigEndian.PutUint32(reply[4:], uint32(oncrpc.MsgReply))
	binary.BigEndian.PutUint32(reply[24:], uint32(nfs3.ErrJukebox))
	x.SetReply(reply, nil, nil)
	return nil
}

// TestJukebox: a call is repeated after growing pauses while the server answers NFS3ERR_JUKEBOX.
func TestJukebox(t *testing.T) {
	srv := server(t)
	root, err := nfsclient.New(pipe.New(srv, pipe.Inline), oncrpc.AuthNone()).Mount(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := &busy{Conn: pipe.New(srv, pipe.Inline), left: 9, begun: time.Now()}
		attr, err := nfsclient.New(b, oncrpc.AuthNone()).GetAttr(t.Context(), root)
		if err != nil || attr.Type != nfs3.TypeDir {
			t.Errorf("got type %v, error %v", attr.Type, err)
		}
		at := time.Duration(0)
		for i, got := range b.calls {
			if got != at {
				t.Errorf("call %d after %v, want %v", i, got, at)
			}
			at += min(50*time.Millisecond<<i, 5*time.Second)
		}
		if len(b.calls) != 10 {
			t.Errorf("%d calls, want 10", len(b.calls))
		}
	})
}

// TestJukeboxCancel: the end of the context ends the wait.
func TestJukeboxCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b := &busy{left: -1, begun: time.Now()}
		_, err := nfsclient.New(b, oncrpc.AuthNone()).GetAttr(ctx, nfs3.FH{})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, nfs3.ErrJukebox) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(b.begun); got != time.Hour {
			t.Errorf("it took %v", got)
		}
	})
}
