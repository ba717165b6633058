package nfsfs

import (
	"errors"
	"io"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// readFrom is the state of ReadFrom: one goroutine reads, others write.
type readFrom struct {
	f       *File
	jobs    chan job
	workers int
	wg      sync.WaitGroup
	mu      sync.Mutex // guards err
	err     error      // the first error of a WRITE
}

// job is data to be written.
type job struct {
	b   *buffer
	n   int
	off int64
}

// ReadFrom copies r to the file at the offset, by up to Config.Parallel parallel WRITEs. It returns
// how many bytes it has read from r. After an error, the file may have any of them. The data is not
// copied again: it stays in the buffers until it is committed.
//
// When the context ends or a WRITE fails, ReadFrom stops reading, but it waits for a Read under
// way. If r may block, such as a pipe, the caller must unblock it.
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

// read reads r and hands its data to the writers. It waits for them at the end.
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

// fill fills a buffer from r. It releases the reservation for bytes that it has not read, even if r
// panics.
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
		// io.ReadFull would not do: it returns io.ErrUnexpectedEOF both for the end of r and for
		// an r that returns that error itself.
		m, e := r.Read(b.mem[n:])
		if m < 0 || m > len(b.mem)-n {
			panic("nfsfs: Read returned an impossible count")
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

// maxEmpty is how many times in a row r may return neither data nor an error, as in package bufio.
const maxEmpty = 100

func (t *readFrom) drop(b *buffer, n int) {
	t.f.unstable.release(n)
	t.f.fs.buffers.put(b)
}

// give hands a job to a writer, and starts one if all are busy.
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

// write writes jobs. After an error it only frees their memory.
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

// stopped returns why r must not be read again: the context has ended, or a WRITE has failed.
func (t *readFrom) stopped() error {
	if err := t.failed(); err != nil {
		return err
	}
	return t.f.ctx.Err()
}
