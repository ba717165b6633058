package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// traffic counts the bytes of calls by the way they travelled. It is an rpcrdma.Observer.
type traffic struct {
	mu    sync.Mutex // guards procs
	procs map[procedure]*row
}

type procedure struct{ program, version, number uint32 }

// row has the sums of one procedure, in bytes unless a field says otherwise.
type row struct {
	calls          int
	inlineSent     int64
	inlineReceived int64
	readChunk      int64
	writeChunk     int64
	replyChunk     int64
	padding        int64
	replyRead      int64
	dones          int
	padded         int // calls in RDMA_MSGP
	longReplies    int // whole replies in a read list
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
	o := row{
		calls: 1, credits: c.Credits,
		inlineSent: int64(c.InlineSent), inlineReceived: int64(c.InlineReceived),
		readChunk: int64(c.ReadChunk), writeChunk: int64(c.WriteChunk), replyChunk: int64(c.ReplyChunk),
		padding: int64(c.Padding), replyRead: int64(c.ReplyRead),
	}
	if c.Padding > 0 {
		o.padded = 1
	}
	if c.ReplyRead > 0 {
		o.dones = 1
		if c.InlineReceived == 0 {
			o.longReplies = 1
		}
	}
	r.add(&o)
}

func (r *row) add(o *row) {
	r.calls += o.calls
	r.inlineSent += o.inlineSent
	r.inlineReceived += o.inlineReceived
	r.readChunk += o.readChunk
	r.writeChunk += o.writeChunk
	r.replyChunk += o.replyChunk
	r.padding += o.padding
	r.replyRead += o.replyRead
	r.dones += o.dones
	r.padded += o.padded
	r.longReplies += o.longReplies
	r.credits = max(r.credits, o.credits)
}

// procGetAddr is the look-up of rpcbind (RFC 1833 section 2.1).
const procGetAddr = 3

// String returns the procedure's name.
func (p procedure) String() string {
	switch {
	case p.program == nfs3.Program && p.version == nfs3.Version:
		return nfs3.Proc(p.number).String()
	case p.program == mount3.Program && p.version == mount3.Version:
		return mount3.Proc(p.number).String()
	case p.program == confproto.Program && p.version == confproto.Version && p.number == confproto.ProcConfigure:
		return "CONF_RDMA"
	case p.program == rpcbind.Program && p.version == rpcbind.Version4 && p.number == procGetAddr:
		return "GETADDR"
	}
	return fmt.Sprintf("%d.%d.%d", p.program, p.version, p.number)
}

// print prints a table of all procedures and their sum, with the columns of the dialect.
func (t *traffic) print(out io.Writer, dialect rpcrdma.Dialect) {
	sum := t.sum()
	t.mu.Lock()
	defer t.mu.Unlock()
	var procs []procedure
	for p := range t.procs {
		procs = append(procs, p)
	}
	slices.SortFunc(procs, func(a, b procedure) int {
		// The largest sums come first.
		return cmp.Or(cmp.Compare(b.program, a.program), cmp.Compare(a.number, b.number))
	})
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	draft := dialect == rpcrdma.Draft
	head := "procedure\tcalls\tinline sent\tinline received\tread chunk\twrite chunk\treply chunk\t"
	if draft {
		head += "padding\treply read\tDONE\t"
	}
	fmt.Fprintln(w, head+"credits\t")
	for _, p := range procs {
		t.procs[p].print(w, p.String(), draft)
	}
	sum.print(w, "all", draft)
	w.Flush()
}

// sum adds all procedures.
func (t *traffic) sum() (sum row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.procs {
		sum.add(r)
	}
	return sum
}

func (r *row) print(w io.Writer, name string, draft bool) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t", name, r.calls, r.inlineSent, r.inlineReceived,
		r.readChunk, r.writeChunk, r.replyChunk)
	if draft {
		fmt.Fprintf(w, "%d\t%d\t%d\t", r.padding, r.replyRead, r.dones)
	}
	fmt.Fprintf(w, "%d\t\n", r.credits)
}
