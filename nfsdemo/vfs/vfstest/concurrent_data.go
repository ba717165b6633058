package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// testConcurrentData: a READ sees a whole WRITE or nothing of it, and its data does not change
// later.
func testConcurrentData(f *fixture) {
	h := f.file("file")
	// Neither begins nor ends where a page of whatever size does.
	const off, n, rounds, writers, readers = 1000, 200001, 50, 3, 3
	f.write(h, off, bytes.Repeat([]byte{'0'}, n))
	var writing, reading sync.WaitGroup
	stop := make(chan struct{})
	errs := make(chan error, writers+readers)
	for w := range writers {
		writing.Go(func() {
			for i := range rounds {
				p := bytes.Repeat([]byte{byte('A' + w)}, n)
				data := Bulk(p)
				if i%2 == 0 {
					data = LazyBulk(p, func() error { return nil })
				}
				if _, err := f.fs.Write(f.ctx, root, h, off, data, nfs3.Unstable); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for range readers {
		reading.Go(func() {
			var last vfs.ReadResult
			first := byte('0')
			for {
				if last.Data != nil {
					if err := uniform(last.Data, first, n); err != nil {
						errs <- fmt.Errorf("data handed out earlier: %w", err)
						return
					}
					release(last.Release)
				}
				select {
				case <-stop:
					return
				default:
				}
				last = vfs.ReadResult{}
				if err := f.fs.Read(f.ctx, root, h, off, n, &last); err != nil {
					errs <- err
					return
				}
				first = last.Data[0][0]
				if err := uniform(last.Data, first, n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	select {
	case err := <-errs:
		f.Error(err)
	default:
	}
	if a := f.attr(h); a.Size != off+n {
		f.Errorf("size %d", a.Size)
	}
}

// uniform checks that there are n bytes, all of them c.
func uniform(data [][]byte, c byte, n int) error {
	for _, p := range data {
		if bytes.Count(p, []byte{c}) != len(p) { // the quick way, as readers do little else
			i := bytes.IndexFunc(p, func(r rune) bool { return r != rune(c) })
			return fmt.Errorf("%q in a run of %q", p[i], c)
		}
		n -= len(p)
	}
	if n != 0 {
		return errors.New("data of another length")
	}
	return nil
}
