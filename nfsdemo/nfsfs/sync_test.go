package nfsfs

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestSyncBesideWriter: Sync returns when what was written before it is committed, also beside a writer for whom one COMMIT is sent
// after the other.
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
		synctest.Wait() // there is no more room
		synced := make(chan error, 1)
		go func() { synced <- f.Sync() }()
		for range 2 { // what is under way, and one that was sent after Sync began
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
