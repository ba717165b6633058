//go:build interop

package linux

import (
	"bytes"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// credits makes many more concurrent calls than the server grants. As many as granted are under
// way, the others wait, and all data is right.
func (k *knfsd) credits(t *testing.T) {
	const (
		granted = 64 // by Linux, always
		callers = 4 * granted
		size    = 32<<10 + 3
	)
	for _, asked := range []int{granted, 4 * granted} {
		var s seen
		conn, c, root := k.client(t, rpcrdma.Config{Credits: asked, Observer: &s}, open)
		// The first calls find no grant yet but one, and the answer to the first of them brings it.
		if err := c.Null(t.Context()); err != nil {
			t.Fatal(err)
		}
		file := create(t, c, root, "credits")
		data := random(t, callers*size)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				off := i * size
				want := data[off : off+size]
				if w, err := c.Write(t.Context(), file, uint64(off), want, nfs3.Unstable); err != nil || w.N != size {
					t.Errorf("WRITE %d: %+v, %v", i, w, err)
				}
				got := make([]byte, size)
				if r, err := c.Read(t.Context(), file, uint64(off), got); err != nil || r.N != size || !bytes.Equal(got, want) {
					t.Errorf("READ %d: %+v, %v; equal: %v", i, r, err, bytes.Equal(got, want))
				}
			})
		}
		all.Wait()
		if got := s.credits(); got != granted {
			t.Errorf("%d calls asked for: %d were under way at a time, want %d", asked, got, granted)
		}
		if grant, inFlight, waiting := conn.Credits(); grant != granted || inFlight != 0 || waiting != 0 {
			t.Errorf("%d calls asked for: %d granted, in the end %d under way and %d waiting", asked, grant, inFlight, waiting)
		}
		if _, err := c.Commit(t.Context(), file, 0, 0); err != nil {
			t.Error(err)
		}
		k.checkSum(t, open+"/credits", data)
	}
}
