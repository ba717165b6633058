package goxdr_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
	"github.com/buildbarn/go-xdr/pkg/runtime"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The length of a list that generated code certainly accepts, allowing for the present stack, and
// of one that it certainly does not.
const (
	deep    = 1<<18 - 1000
	tooDeep = 1<<18 + 1<<16
)

// chain is a value of n levels of 4 bytes each, decoded like the code generated for "struct chain {
// chain *next; }". It records how deep it got.
type chain struct{ n, deepest int }

func (c *chain) ReadFrom(r io.Reader) (int64, error) {
	c.n++
	c.deepest = max(c.deepest, c.n)
	more, n, err := runtime.ReadBool(r)
	if err == nil && more {
		var m int64
		m, err = c.ReadFrom(r)
		n += m
	}
	c.n--
	return n, err
}

func (c *chain) WriteTo(w io.Writer) (int64, error) {
	c.n--
	n, err := runtime.WriteBool(w, c.n > 0)
	if err == nil && c.n > 0 {
		var m int64
		m, err = c.WriteTo(w)
		n += m
	}
	return n, err
}

// chainOf encodes a chain.
func chainOf(n int) []byte {
	return append(bytes.Repeat([]byte{0, 0, 0, 1}, n-1), 0, 0, 0, 0)
}

// listOf encodes a list of notes without titles.
func listOf(n int) raw {
	list := append([]byte{0, 0, 0, 1}, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 1}, n)...)
	list[len(list)-1] = 0
	return list
}

// A chain is followed only to a limited depth.
func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		want error
	}{
		{"one", 1, nil},
		{"deep", deep, nil},
		{"too deep", tooDeep, goxdr.ErrTooDeep},
		{"much too deep", 16 << 20, goxdr.ErrTooDeep},
	} {
		var c chain
		d := xdr.NewDecoder(chainOf(tt.n))
		goxdr.Reply(&c).UnmarshalXDR(d)
		if !errors.Is(d.Err(), tt.want) || tt.want == nil && c.deepest != tt.n {
			t.Errorf("%s: got %v at %d, want %v", tt.name, d.Err(), c.deepest, tt.want)
		}
		if c.deepest > tooDeep {
			t.Errorf("%s: decoded %d deep, want %d at most", tt.name, c.deepest, tooDeep)
		}
		c.n = tt.n
		var e xdr.Encoder
		goxdr.Args(&c).MarshalXDR(&e)
		if !errors.Is(e.Err(), tt.want) || tt.n-c.n > tooDeep {
			t.Errorf("%s: encoding: got %v after %d, want %v", tt.name, e.Err(), tt.n-c.n, tt.want)
		}
		if tt.want == nil && !bytes.Equal(e.Message().Inline, chainOf(tt.n)) {
			t.Errorf("%s: others were encoded", tt.name)
		}
	}
}

// A long message that is not deep is decoded: a million numbers, one Read each.
func TestLongIsNotDeep(t *testing.T) {
	const n = 1 << 20
	d := xdr.NewDecoder(make([]byte, 4*n))
	got := 0
	goxdr.ReplyFunc(func(r io.Reader) (sum int, size int64, err error) {
		for size < 4*n && err == nil {
			var m int64
			_, m, err = runtime.ReadUnsignedInt(r)
			sum, size = sum+1, size+m
		}
		return sum, size, err
	}, &got).UnmarshalXDR(d)
	if d.Finish() != nil || got != n {
		t.Errorf("%d numbers, %v", got, d.Finish())
	}
}

// echoList is a Service, like those that the compiler generates, that returns its argument, a list.
// Version 2 returns a list that is too deep.
func echoList(_ context.Context, version, _ uint32, args io.ReadCloser,
	newResults func(int) io.Writer) (rpcv2.AcceptedReplyData, error) {
	list, _, err := notes.ReadListing(args)
	if err != nil {
		return nil, err
	}
	args.Close()
	if version == 2 {
		for range tooDeep {
			list = &notes.Entry{Next: list}
		}
	}
	if _, err := notes.WriteListing(newResults(0), list); err != nil {
		return nil, err
	}
	return &rpcv2.AcceptedReplyData_SUCCESS{}, nil
}

// Neither a hostile call nor a hostile reply ends the process, over either transport. Both have as
// many levels as fit in a message with the usual limits.
func TestHostileDepth(t *testing.T) {
	const most = 4 << 20
	hostile := listOf((most - 1024) / 8)
	program := func(number, version uint32, procs []oncrpc.Procedure) oncrpc.Program {
		return oncrpc.Program{Number: number, Version: version, Procedures: procs}
	}
	service := goxdr.Procedures(echoList, most, "", "ECHO")
	hostileServer := []oncrpc.Procedure{1: {Name: "LIST",
		Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Raw(hostile)
			return nil
		}}}
	const number = notes.NOTES_PROGRAM_NUMBER
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		var list *notes.Entry
		call := func(program, version uint32, args oncrpc.Marshaler) error {
			c := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone())
			return c.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: args, MaxReply: len(hostile),
				Reply: goxdr.ReplyFunc(notes.ReadListing, &list)})
		}
		err := call(number+1, 1, nil)
		if !errors.Is(err, oncrpc.ErrMalformedReply) || !errors.Is(err, goxdr.ErrTooDeep) {
			t.Errorf("a hostile reply: got %v, want ErrMalformedReply and ErrTooDeep", err)
		}
		var accept *oncrpc.AcceptError
		err = call(number, 1, hostile)
		if !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs {
			t.Errorf("a hostile call: got %v, want GARBAGE_ARGS", err)
		}
		err = call(number, 2, listOf(1))
		if !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
			t.Errorf("results that are too deep: got %v, want SYSTEM_ERR", err)
		}
		// The connection and the server stay usable.
		if err := call(number, 1, listOf(1000)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; list != nil; list = list.Next {
			n++
		}
		if n != 1000 {
			t.Errorf("%d elements came back, want 1000", n)
		}
	}, program(number, 1, service), program(number, 2, service), program(number+1, 1, hostileServer))
}
