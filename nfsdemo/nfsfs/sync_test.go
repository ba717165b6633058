package nfsfs

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestSynchronousLazy: with O_SYNC, data is on stable storage when the call returns, even if the
// server answers UNSTABLE to FILE_SYNC and then loses the data.
func TestSynchronousLazy(t *testing.T) {
	data := []byte("twenty-five bytes of data")
	for name, write := range map[string]func(f *File) (int64, error){
		"Write":   func(f *File) (int64, error) { n, err := f.Write(data[:7]); return int64(n), err },
		"WriteAt": func(f *File) (int64, error) { n, err := f.WriteAt(data[:7], 0); return int64(n), err },
		"WriteAt in parallel": func(f *File) (int64, error) {
			n, err := f.WriteAt(data, 0)
			return int64(n), err
		},
		"ReadFrom": func(f *File) (int64, error) { return f.ReadFrom(bytes.NewReader(data)) },
	} {
		for _, restart := range []bool{false, true} {
			s := &hostile{lazy: true}
			if restart { // before the first COMMIT
				s.restart = map[int]bool{2 * 1: true, 2 * 3: true}
			}
			f := s.open(t, t.Context(), Config{TransferSize: 10}, os.O_WRONLY|os.O_SYNC)
			n, err := write(f)
			s.mu.Lock()
			if err != nil || n == 0 || !bytes.Equal(s.stable, data[:n]) {
				t.Errorf("%s, restart %v: %d bytes are written (%v), %q is on stable storage",
					name, restart, n, err, s.stable)
			}
			s.mu.Unlock()
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSyncBesideWriter: Sync returns once earlier data is committed, even if a writer causes one
// COMMIT after another.
func TestSyncBesideWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hostile{}
		under, hold := make(chan struct{}), make(chan struct{})
		s.before = func(_ context.Context, p nfs3.Proc) error {
			if p == nfs3.ProcCommit {
				under <- struct{}{}
				<-hold
			}
			return nil
		}
		f := s.open(t, t.Context(), Config{TransferSize: 10, MaxUncommitted: 40}, os.O_WRONLY)
		write := func(n int64) {
			if _, err := f.WriteAt(make([]byte, 10), 10*n); err != nil {
				t.Error(err)
			}
		}
		write(0)
		write(1)
		<-under // half is full
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := range int64(20) {
				write(2 + n)
			}
		})
		synctest.Wait() // the room is used up
		synced := make(chan error, 1)
		go func() { synced <- f.Sync() }()
		for range 2 { // the one under way, and one sent after Sync began
			synctest.Wait()
			if len(synced) > 0 {
				t.Fatalf("Sync has returned %v before what was written before it is committed", <-synced)
			}
			hold <- struct{}{}
			<-under
		}
		synctest.Wait()
		select {
		case err := <-synced:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Sync waits for the writer")
		}
		go func() {
			for range under {
			}
		}()
		close(hold)
		wg.Wait()
		if err := f.Close(); err != nil || len(s.stable) != 220 {
			t.Errorf("%d bytes: %v", len(s.stable), err)
		}
		close(under)
		synctest.Wait()
	})
}
