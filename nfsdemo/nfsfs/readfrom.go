package nfsfs

import (
	"errors"
	"io"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// readFrom is a ReadFrom under way: one goroutine reads, others write.
type readFrom struct {
	f       *File
	jobs    chan job
	workers int
	wg      sync.WaitGroup
	mu      sync.Mutex // guards err
	err     error      // of the first WRITE that failed
}

// job is data to write.
type job struct {
	b   *buffer
	n   int
	off int64
}

// ReadFrom writes what r has at the offset, with Config.Parallel WRITEs under way. It returns the
// bytes read from r; with an error it is not known which of them the file has. They are not copied,
// but stay in the memory into which r was read until they are committed.
//
// When the context ends or a WRITE fails, r is not read again, but a Read under way is waited for:
// who calls with an r that may block, such as a pipe, unblocks it.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("write", err)
	}
	defer f.leave()
	f.offset.Lock()
	defer f.offset.Unlock()
	err := f.writable(f.off, 0)
	if err == nil {
		err = f.toEnd()
	}
	if err != nil {
		return 0, f.err("write", err)
	}
	t := &readFrom{f: f, jobs: make(chan job)}
	n, err := t.run(r)
	f.off += n
	if err == nil && f.stable == nfs3.FileSync {
		err = f.unstable.sync()
	}
	return n, f.err("write", err)
}

func (t *readFrom) run(r io.Reader) (total int64, err error) {
	total, err = t.read(r)
	if e := t.failed(); e != nil && !errors.Is(err, e) {
		err = errors.Join(err, e)
	}
	return total, err
}

// read reads r and hands its data to the writers, which it waits for.
func (t *readFrom) read(r io.Reader) (total int64, err error) {
	defer t.wg.Wait()
	defer close(t.jobs)
	for {
		b, n, err := t.fill(r)
		if n > 0 {
			if err := t.f.writable(t.f.off+total, n); err != nil {
				t.drop(b, n)
				return total, err
			}
			t.give(job{b, n, t.f.off + total})
			total += int64(n)
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// fill reads a buffer full. The memory of what is not read is available again, also when r panics.
func (t *readFrom) fill(r io.Reader) (b *buffer, n int, err error) {
	u := &t.f.unstable
	if err := u.reserve(t.f.wsize); err != nil {
		return nil, 0, err
	}
	b = t.f.fs.buffers.get(t.f.wsize)
	defer func() {
		u.release(t.f.wsize - n)
		if n == 0 {
			t.f.fs.buffers.put(b)
		}
	}()
	for empty := 0; n < len(b.mem) && err == nil; empty++ {
		if err = t.stopped(); err != nil {
			break
		}
		// Not io.ReadFull, which has io.ErrUnexpectedEOF for the end of r and also passes on that
		// of an r that broke off.
		m, e := r.Read(b.mem[n:])
		if m < 0 || m > len(b.mem)-n {
			panic("nfsfs: a Reader that has read more than it was asked for")
		}
		if n, err = n+m, e; m > 0 {
			empty = 0
		}
		if empty == maxEmpty && err == nil {
			err = io.ErrNoProgress
		}
	}
	return b, n, err
}

// maxEmpty is how often a Reader may say that it has neither data nor an error: as often as for
// package bufio.
const maxEmpty = 100

func (t *readFrom) drop(b *buffer, n int) {
	t.f.unstable.release(n)
	t.f.fs.buffers.put(b)
}

// give waits for a writer.
func (t *readFrom) give(j job) {
	select {
	case t.jobs <- j:
		return
	default:
	}
	if t.workers < t.f.fs.cfg.Parallel {
		t.workers++
		t.wg.Go(t.write)
	}
	t.jobs <- j
}

// write writes job after job. Behind an error it only frees their memory.
func (t *readFrom) write() {
	for j := range t.jobs {
		if t.failed() != nil {
			t.drop(j.b, j.n)
			continue
		}
		if err := t.f.unstable.writeBuffer(j.b, j.n, j.off); err != nil {
			t.mu.Lock()
			if t.err == nil {
				t.err = err
			}
			t.mu.Unlock()
		}
	}
}

func (t *readFrom) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// stopped returns why the Reader is not read again: the end of the context, or a WRITE that has
// failed.
func (t *readFrom) stopped() error {
	if err := t.failed(); err != nil {
		return err
	}
	return t.f.ctx.Err()
}
