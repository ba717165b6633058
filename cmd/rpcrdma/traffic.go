package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// traffic counts which way the bytes of calls travelled. It is an rpcrdma.Observer.
type traffic struct {
	mu    sync.Mutex // guards procs
	procs map[procedure]*row
}

type procedure struct{ program, version, number uint32 }

// row is the sums of one procedure, in bytes but for the first and the last.
type row struct {
	calls          int
	inlineSent     int64
	inlineReceived int64
	readChunk      int64
	writeChunk     int64
	replyChunk     int64
	credits        int // most in use
}

func newTraffic() *traffic { return &traffic{procs: make(map[procedure]*row)} }

// CallDone adds a call.
func (t *traffic) CallDone(c *rpcrdma.CallInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := procedure{c.Program, c.Version, c.Procedure}
	r := t.procs[p]
	if r == nil {
		r = new(row)
		t.procs[p] = r
	}
	r.add(&row{1, int64(c.InlineSent), int64(c.InlineReceived), int64(c.ReadChunk), int64(c.WriteChunk), int64(c.ReplyChunk), c.Credits})
}

func (r *row) add(o *row) {
	r.calls += o.calls
	r.inlineSent += o.inlineSent
	r.inlineReceived += o.inlineReceived
	r.readChunk += o.readChunk
	r.writeChunk += o.writeChunk
	r.replyChunk += o.replyChunk
	r.credits = max(r.credits, o.credits)
}

// String returns the procedure's name.
func (p procedure) String() string {
	switch {
	case p.program == nfs3.Program && p.version == nfs3.Version:
		return nfs3.Proc(p.number).String()
	case p.program == mount3.Program && p.version == mount3.Version:
		return mount3.Proc(p.number).String()
	}
	return fmt.Sprintf("%d.%d.%d", p.program, p.version, p.number)
}

// print writes a table of all procedures and their sum.
func (t *traffic) print(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var (
		procs []procedure
		sum   row
	)
	for p := range t.procs {
		procs = append(procs, p)
	}
	slices.SortFunc(procs, func(a, b procedure) int {
		// MOUNT, which comes first, has the larger number.
		return cmp.Or(cmp.Compare(b.program, a.program), cmp.Compare(a.number, b.number))
	})
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "procedure\tcalls\tinline sent\tinline received\tread chunk\twrite chunk\treply chunk\tcredits\t")
	for _, p := range procs {
		t.procs[p].print(w, p.String())
		sum.add(t.procs[p])
	}
	sum.print(w, "all")
	w.Flush()
}

func (r *row) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, r.calls, r.inlineSent, r.inlineReceived,
		r.readChunk, r.writeChunk, r.replyChunk, r.credits)
}
