package nfsfs

import "io"

// writeTo is the state of WriteTo: a ring of pieces of the file, which are read in parallel and
// written in order.
type writeTo struct {
	f    *File
	size int64 // of the file when WriteTo began
	next int64 // offset of the piece to ask for next
	ring []piece
	n    int // pieces under way, from ring[at] on
	at   int // index of the first of them
}

// piece is a part of the file that is being read. Each has a goroutine, which reads every
// len(ring)th part.
type piece struct {
	f    *File
	b    *buffer
	off  int64
	want int64 // bytes that it should have, by the size
	n    int
	eof  bool
	err  error
	ask  chan struct{} // nil: the goroutine has not been started
	done chan struct{}
}

// WriteTo copies the file from the offset to its end to w, in order, and reads up to
// Config.Parallel pieces ahead. It needs TransferSize times Parallel bytes of memory. The offset
// moves by what w has taken.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("read", err)
	}
	defer f.leave()
	f.offset.Lock()
	defer f.offset.Unlock()
	if _, err := f.readAt(nil, f.off); err != nil {
		return 0, err
	}
	a, err := f.fs.c.GetAttr(f.ctx, f.handle)
	if err != nil {
		return 0, f.err("read", err)
	}
	t := &writeTo{f: f, size: size(&a), next: f.off, ring: make([]piece, f.fs.cfg.Parallel)}
	defer t.drain()
	return t.run(w)
}

// run keeps the ring full and writes what arrives.
func (t *writeTo) run(w io.Writer) (int64, error) {
	total := int64(0)
	for {
		// Beyond the known size, one READ at a time looks for more data.
		for t.n < len(t.ring) && (t.n == 0 || t.next < t.size) {
			t.ask()
		}
		n, eof, err := t.write(w)
		total += int64(n)
		t.f.off += int64(n)
		if err != nil || eof {
			return total, err
		}
	}
}

// ask starts to read the next piece.
func (t *writeTo) ask() {
	p := &t.ring[(t.at+t.n)%len(t.ring)]
	if p.ask == nil {
		p.f, p.ask, p.done = t.f, make(chan struct{}), make(chan struct{}, 1)
		go p.run()
	}
	p.b = t.f.fs.buffers.get(t.f.rsize)
	p.off, p.want = t.next, max(0, min(int64(t.f.rsize), t.size-t.next))
	t.next += int64(t.f.rsize)
	t.n++
	p.ask <- struct{}{}
}

// pace calls Config.Pace before a piece is read.
func (p *piece) pace() error {
	if p.f.fs.cfg.Pace == nil || p.want == 0 {
		return nil
	}
	return p.f.fs.cfg.Pace(p.f.ctx, int(p.want))
}

// run reads piece after piece.
func (p *piece) run() {
	for range p.ask {
		p.n, p.eof = 0, false
		if p.err = p.pace(); p.err == nil {
			p.n, p.eof, p.err = p.f.readFull(p.b.mem, p.off)
		}
		p.done <- struct{}{}
	}
}

// write waits for the first piece and writes it to w.
func (t *writeTo) write(w io.Writer) (n int, eof bool, err error) {
	p := &t.ring[t.at]
	<-p.done
	t.at = (t.at + 1) % len(t.ring)
	t.n--
	defer t.f.fs.buffers.put(p.b)
	if p.n > 0 {
		n, err = w.Write(p.b.mem[:p.n])
		n = max(0, min(n, p.n))
		if err == nil && n < p.n {
			err = io.ErrShortWrite
		}
	}
	if err == nil {
		err = t.f.err("read", p.err)
	}
	return n, p.eof, err
}

// drain waits for READs under way and stops the goroutines.
func (t *writeTo) drain() {
	for i := range t.ring {
		p := &t.ring[i]
		if p.ask == nil {
			continue
		}
		if (i-t.at+len(t.ring))%len(t.ring) < t.n {
			<-p.done
			t.f.fs.buffers.put(p.b)
		}
		close(p.ask)
	}
}
