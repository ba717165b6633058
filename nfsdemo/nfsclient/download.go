package nfsclient

import (
	"context"
	"io"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// download is a Download under way: a ring of pieces of the file, read at the same time
// and written in order.
type download struct {
	c    *Client
	h    nfs3.FH
	t    Transfer
	size uint64 // as far as is known
	next uint64 // offset of the piece to ask for next
	ring []piece
	n    int // pieces under way, from first on
	at   int // the first of them
}

// piece is a run of bytes that is being read.
type piece struct {
	buf  *[]byte
	n    int
	eof  bool
	err  error
	done chan struct{}
}

// Download reads a file to its end and writes it to w. It returns the bytes written.
func (c *Client) Download(ctx context.Context, h nfs3.FH, w io.Writer, t Transfer) (int64, error) {
	d := &download{c: c, h: h, t: t}
	if err := d.t.settle(ctx, c, h, func(i *nfs3.FSInfo) uint32 { return i.RtMax }); err != nil {
		return 0, err
	}
	attr, err := c.GetAttr(ctx, h)
	if err != nil {
		return 0, err
	}
	d.size = attr.Size
	d.ring = make([]piece, d.t.Parallel)
	for i := range d.ring {
		d.ring[i].done = make(chan struct{}, 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer d.drain()
	defer cancel()
	return d.run(ctx, w)
}

// run keeps the ring full and writes what arrives.
func (d *download) run(ctx context.Context, w io.Writer) (int64, error) {
	total := int64(0)
	for {
		// Behind the known end one READ at a time looks whether there is more.
		for d.n < len(d.ring) && (d.n == 0 || d.next < d.size) {
			d.ask(ctx)
		}
		p := d.pop()
		if p.err != nil {
			d.c.buffers.Put(p.buf)
			return total, p.err
		}
		n, err := w.Write((*p.buf)[:p.n])
		if err == nil && n < p.n {
			err = io.ErrShortWrite
		}
		total += int64(n)
		d.t.Progress(n)
		d.c.buffers.Put(p.buf)
		if err != nil || p.eof {
			return total, err
		}
	}
}

// ask begins to read the next piece.
func (d *download) ask(ctx context.Context) {
	p := &d.ring[(d.at+d.n)%len(d.ring)]
	p.buf = d.c.buffer(d.t.Size)
	off := d.next
	d.next += uint64(d.t.Size)
	d.n++
	go func() {
		p.n, p.eof, p.err = d.c.readFull(ctx, d.h, off, *p.buf)
		p.done <- struct{}{}
	}()
}

// pop waits for the first piece and takes it out of the ring, with its buffer.
func (d *download) pop() piece {
	p := &d.ring[d.at]
	<-p.done
	first := *p
	p.buf = nil
	d.at = (d.at + 1) % len(d.ring)
	d.n--
	return first
}

// drain waits for what is still under way.
func (d *download) drain() {
	for d.n > 0 {
		d.c.buffers.Put(d.pop().buf)
	}
}

// readFull reads len(p) bytes unless the file ends before.
func (c *Client) readFull(ctx context.Context, h nfs3.FH, off uint64, p []byte) (n int, eof bool, err error) {
	for n < len(p) && !eof {
		r, err := c.Read(ctx, h, off+uint64(n), p[n:])
		if err == nil && r.N == 0 && !r.EOF {
			err = &Error{nfs3.ProcRead.String(), "", io.ErrNoProgress}
		}
		if err != nil {
			return n, false, err
		}
		n += r.N
		eof = r.EOF
	}
	return n, eof, nil
}
