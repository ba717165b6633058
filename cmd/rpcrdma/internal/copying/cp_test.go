package copying

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// limited is an open file that takes so many bytes, and then fails if it is to.
type limited struct {
	content // nil
	most    int64
	err     error
}

func (l limited) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(io.Discard, io.LimitReader(r, l.most))
	if err == nil {
		err = l.err
	}
	return n, err
}

// stuck is a file whose reading goes on after its target has failed, until it may end.
type stuck struct {
	content // nil
	mayEnd  chan struct{}
}

func (s stuck) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("x"))
	<-s.mayEnd
	return int64(n), err
}

// TestBetweenWaits: when a copy between two servers has failed, its source is not in use any more.
func TestBetweenWaits(t *testing.T) {
	from, to := openDir(t, t.TempDir()), openDir(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		c := &copier{teller: teller{bar: &cli.Bar{W: new(bytes.Buffer)}}}
		f := &Item{from: from, to: to, name: "file", as: "copy"}
		f.size = smallFile + 1
		s := stuck{mayEnd: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- c.between(t.Context(), limited{err: io.ErrShortWrite}, s, f) }()
		if synctest.Wait(); len(done) > 0 {
			t.Error("the source is still read when the copy has ended")
		}
		close(s.mayEnd)
		if err := <-done; !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("got %v, want %v", err, io.ErrShortWrite)
		}
	})
}

// TestBetween: a copy between two servers ends when either fails, with the error that says which.
func TestBetween(t *testing.T) {
	data, bad := strings.Repeat("x", 1<<20), errors.New("bad")
	from, to := openDir(t, t.TempDir()), openDir(t, t.TempDir())
	for _, tt := range []struct {
		name string
		from text
		to   limited
		want error
	}{
		{"neither", text{text: data}, limited{most: 2 << 20}, nil},
		{"the source", text{nil, data, bad}, limited{most: 2 << 20}, words.About(from.show("file"), bad)},
		{"the destination", text{text: data}, limited{most: 1 << 10, err: bad}, words.About(to.show("copy"), bad)},
		{"the destination at once", text{text: data}, limited{err: bad}, words.About(to.show("copy"), bad)},
		{"both", text{nil, data, bad}, limited{err: bad}, words.About(to.show("copy"), bad)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &copier{teller: teller{bar: &cli.Bar{W: new(bytes.Buffer)}}}
			f := &Item{from: from, to: to, name: "file", as: "copy"}
			f.size = int64(len(data))
			done := make(chan error, 1)
			go func() { done <- c.between(t.Context(), tt.to, tt.from, f) }()
			err := hang.Receive(t, "the end of the copy", done)
			if fmt.Sprint(err) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
