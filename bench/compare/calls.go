package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// caller makes NFS calls, one at a time, in a directory with fileName or dirName in it.
type caller interface {
	null() error
	getAttr() error                  // of the file
	read(off int64, p []byte) error  // all of p
	write(off int64, p []byte) error // all of p
	list() (entries int, err error)  // without "." and ".."
}

// dialer connects, and returns a caller for each call in flight. Callers of one list may be used at
// the same time; one caller may not be used twice at a time.
type dialer func(ctx context.Context, s paired.Sockets, addr string, w workload) (
	callers []caller, end func() error, err error)

// client does a workload with callers.
type client struct {
	w               workload
	slots           []slot
	end             func() error
	*paired.Callers // one for each slot

	next atomic.Int64 // the next block of a workload that goes in order
}

// slot is a call in flight.
type slot struct {
	caller
	data   []byte
	random rand.PCG
}

// calls returns a function that makes a client of a dialer's callers.
func calls(dial dialer) func(context.Context, paired.Sockets, string, workload) (paired.Client, error) {
	return func(ctx context.Context, s paired.Sockets, addr string, w workload) (paired.Client, error) {
		callers, end, err := dial(ctx, s, addr, w)
		if err != nil {
			return nil, err
		}
		c := &client{w: w, end: end}
		for i, caller := range callers {
			s := slot{caller: caller, random: *rand.NewPCG(1, uint64(i))}
			if w.op != opList {
				s.data = make([]byte, w.size)
				written(s.data)
			}
			c.slots = append(c.slots, s)
		}
		if err := c.checkRead(); err != nil {
			return nil, errors.Join(err, end())
		}
		c.Callers = paired.NewCallers(len(c.slots), func(i int) error { return c.do(&c.slots[i]) })
		return c, nil
	}
}

// do does one operation.
func (c *client) do(s *slot) error {
	blocks := int64(1)
	if c.w.op != opList {
		blocks = fileSize / int64(max(c.w.size, 1))
	}
	inOrder := func() int64 { return (c.next.Add(1) - 1) % blocks * int64(c.w.size) }
	switch c.w.op {
	case opNull:
		return s.null()
	case opGetAttr:
		return s.getAttr()
	case opRead:
		return s.read(inOrder(), s.data)
	case opRandom:
		return s.read(int64(s.random.Uint64()%uint64(blocks))*int64(c.w.size), s.data)
	case opWrite:
		return s.write(inOrder(), s.data)
	case opList:
		n, err := s.list()
		if err == nil && n != c.w.size {
			err = fmt.Errorf("listed %d entries, want %d", n, c.w.size)
		}
		return err
	}
	return fmt.Errorf("no operation is named %q", c.w.op)
}

// checkRead reads the first and the last block of the file, and fails if the data is wrong.
func (c *client) checkRead() error {
	if c.w.op != opRead && c.w.op != opRandom {
		return nil
	}
	want := make([]byte, c.w.size)
	for _, off := range []int64{0, fileSize - int64(c.w.size)} {
		content(want, off)
		if err := c.check(off, want); err != nil {
			return err
		}
	}
	return nil
}

// checkWritten reads the last block written, and fails if the data is wrong.
func (c *client) checkWritten() error {
	n := c.next.Load()
	if c.w.op != opWrite || n == 0 {
		return nil
	}
	want := make([]byte, c.w.size)
	written(want)
	return c.check((n-1)%(fileSize/int64(c.w.size))*int64(c.w.size), want)
}

func (c *client) check(off int64, want []byte) error {
	got := make([]byte, len(want))
	if err := c.slots[0].read(off, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("at %d there are not the %d bytes that were written", off, len(want))
	}
	return nil
}

// Close checks what was written, and closes the connections.
func (c *client) Close() error {
	c.End()
	return errors.Join(c.checkWritten(), c.end())
}
