//go:build interop

package linux

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// readOdd reads files, past the client's cache. Their lengths are around XDR's words and pages, and
// some are longer. If a length is not a multiple of 4, the data comes in write chunks whose lengths
// a server of the draft's dialect rounds up.
const readOdd = `
for n in 0 1 2 3 4 5 6 7 8 9 4093 4094 4095 4096 4097 8191 65537 262141; do
	head -c $n /host/data >$n
	fresh
	same "length" "$(stat -c %s $n)" $n
	same "SHA-256 of $n bytes" "$(sum $n)" "$(head -c $n /host/data | sha256sum | cut -d ' ' -f 1)"
	same "the last bytes of $n" "$(tail -c 5 $n | sha256sum)" "$(head -c $n /host/data | tail -c 5 | sha256sum)"
done
`

// draftServer lets Linux mount an export of a server that speaks the draft's dialect. The part that
// both dialects share, which is all that Linux knows, must work: Linux counts replies that it does
// not understand.
func draftServer(t *testing.T, sh *shell, export string, n sizes) {
	s := serve(t, "--dialect", "draft", "--align", "4KiB", "--inline", "32KiB")
	m := s.mount(t, sh, export)
	for _, name := range []string{"data", "rename", "symlinks"} {
		m.step(t, name, n)
	}
	sh.run(t, source(t, "prelude")+"cd "+m.at+readOdd)
	if c := m.counters(t); c.WriteChunks == 0 || c.ReadChunks == 0 {
		t.Errorf("the client counts %+v, want write and read chunks", c)
	}
	m.unmount(t)
	s.stop(t)
}

// draftClient lets our client speak the draft's dialect to the kernel's server, which knows neither
// CONF_RDMA nor the rest of it.
func (k *knfsd) draftClient(t *testing.T) {
	t.Run("conf", func(t *testing.T) {
		got := k.do(t, "conf", "rdma://"+local(k.RDMA))
		want := fmt.Sprintf("has no CONF_RDMA: no program %d, nor %d\n", confproto.Program, confproto.ProgramRFC5666)
		if !strings.Contains(got, want) {
			t.Errorf("conf prints no %q:\n%s", want, got)
		}
		if !strings.Contains(got, "at setup it sends private data of RFC 8797\n") {
			t.Errorf("conf says nothing of the private data:\n%s", got)
		}
	})
	t.Run("sizes", func(t *testing.T) {
		conn, c, root := k.client(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, open)
		file := create(t, c, root, "draft")
		for _, n := range append([]int{2, 4, 5, 6, 7, 8, 9}, oddSizes...) {
			thereAndBack(t, c, file, n)
		}
		if s := conn.Stats(); s.DonesSent != 0 {
			t.Errorf("%d RDMA_DONEs sent, want none: the kernel leaves nothing to be read", s.DonesSent)
		}
	})
	t.Run("commands", func(t *testing.T) {
		to, want := filepath.Join(t.TempDir(), "got"), random(t, 3<<20+1)
		k.do(t, "put", "--dialect", "draft", localFile(t, want), k.url("rdma", open+"/draft-put"))
		k.do(t, "get", "--dialect", "draft", k.url("rdma", open+"/draft-put"), to)
		checkFile(t, to, want)
	})
}
