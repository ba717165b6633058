package probe

import (
	"context"
	"errors"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// The bytes of the READs. The small one fits in any message. The large one takes many packets, and
// over RDMA an RDMA Write.
const (
	smallRead = 512
	largeRead = 64 << 10
)

// Bounds of the search for a file to read.
const (
	maxReadDirs  = 16
	maxReadNames = 512
)

// probeFile is a file to read.
type probeFile struct {
	name string
	h    nfs3.FH
	size uint64
}

// readStep reads from a file.
type readStep struct {
	*caller
	info *nfs3.FSInfo // of the export

	large bool // a large reply has come
}

// run reads the beginning of a file, in a small message and in a large one.
func (p *readStep) run(ctx context.Context) bool {
	limited, cancel := p.limit(ctx)
	defer cancel()
	f, err := p.findFile(limited)
	switch {
	case words.TimedOut(err):
		return p.report.add(p.searchSilent(ctx))
	case err != nil:
		return p.report.fail(causeOf(err), "no file to read: "+p.reason(err),
			"correct the path in the URL, or use --uid to call as a user who may")
	case f == nil:
		return p.report.note(nil, "nothing is read: probe found no file that has data and that "+
			"this user may read")
	}
	values := map[string]any{"file": f.name, "size": f.size}
	for _, n := range []int{smallRead, largeRead} {
		if n > smallRead && f.size <= smallRead {
			break
		}
		n = int(min(uint64(n), f.size, uint64(max(p.info.RtMax, smallRead))))
		if !p.read(ctx, f, n) {
			return false
		}
		values["read"] = n
	}
	return p.report.ok(values, "%s of %s are read", sizeText(uint32(values["read"].(int))),
		cli.Printable(f.name))
}

// searchSilent returns why the search for a file got no answer. A listing fills packets, so it may
// be lost on the way. If a short listing of the same directory comes over a new connection, the
// disk does not hang.
func (p *readStep) searchSilent(ctx context.Context) Finding {
	const what = "the search for a file to read"
	f, _ := p.silence(ctx, what, "from the server", "at the server")
	if f.Cause != CauseMTU {
		return f
	}
	limited, cancel := p.limit(ctx)
	defer cancel()
	args := nfs3.ReadDirArgs{Dir: p.root.Handle, Count: smallRead}
	c := oncrpc.NewClient(p.conn, nfs3.Program, nfs3.Version, p.flavor)
	if c.Call(limited, uint32(nfs3.ProcReadDir), &args, new(nfs3.ReadDirRes)) != nil {
		return diskHangs(what)
	}
	p.report.step = "mtu"
	return f
}

// read reads some bytes of a file.
func (p *readStep) read(ctx context.Context, f *probeFile, n int) bool {
	limited, cancel := p.limit(ctx)
	defer cancel()
	what := "READ of " + sizeText(uint32(n)) + " of " + cli.Printable(f.name)
	r, err := p.client().Read(limited, f.h, 0, make([]byte, n))
	switch {
	case words.TimedOut(err) && n > smallRead:
		silence, _ := p.silence(ctx, what, "from the server", "at the server")
		if silence.Cause == CauseMTU {
			p.report.step = "mtu"
		}
		return p.report.add(silence)
	case words.TimedOut(err):
		return p.failSilent(ctx, what)
	case err != nil:
		return p.report.fail(causeOf(err), what+": "+p.reason(err),
			"see the server's log, or use --uid to call as another user")
	}
	p.large = p.large || r.N > smallRead
	return true
}

// causeOf returns the cause for an error of NFS.
func causeOf(err error) Cause {
	if errors.Is(err, nfs3.ErrAcces) || errors.Is(err, nfs3.ErrPerm) {
		return CauseDenies
	}
	return CauseFailed
}

// findFile returns the file of the URL. If that is a directory, it returns the first file below it
// that the caller may read and that has at least largeRead bytes, or else the largest one found, or
// nil.
func (p *readStep) findFile(ctx context.Context) (*probeFile, error) {
	c, h := p.client(), p.root.Handle
	name := strings.TrimSuffix(p.root.Export, "/")
	for _, part := range strings.FieldsFunc(p.root.Rest, func(r rune) bool { return r == '/' }) {
		o, err := c.Lookup(ctx, h, part)
		if err != nil {
			return nil, err
		}
		h, name = o.File, name+"/"+part
	}
	a, err := c.GetAttr(ctx, h)
	switch {
	case err != nil:
		return nil, err
	case a.Type == nfs3.TypeReg && a.Size > 0:
		return &probeFile{name, h, a.Size}, nil
	case a.Type != nfs3.TypeDir:
		return nil, nil
	}
	return searchFile(ctx, c, probeFile{name: name, h: h})
}

// searchFile searches below a directory. It skips what it cannot look at.
func searchFile(ctx context.Context, c *nfsclient.Client, top probeFile) (*probeFile, error) {
	var found *probeFile
	dirs, names := []probeFile{top}, 0
	for i := 0; i < len(dirs) && i < maxReadDirs; i++ {
		for e, err := range c.ReadDir(ctx, dirs[i].h) {
			if err != nil && (i == 0 || ctx.Err() != nil) {
				return found, err
			}
			if names++; err != nil || names > maxReadNames {
				break
			}
			f := probeFile{name: dirs[i].name + "/" + e.Name, h: e.File.FH, size: e.Attr.Attr.Size}
			switch a := e.Attr; {
			case !e.File.Present || !a.Present:
			case a.Attr.Type == nfs3.TypeDir:
				dirs = append(dirs, f)
			case a.Attr.Type != nfs3.TypeReg || f.size == 0 || found != nil && f.size <= found.size:
			default:
				rights, err := c.Access(ctx, f.h, nfs3.AccessRead)
				switch {
				case ctx.Err() != nil:
					return found, err
				case err != nil || rights == 0: // it is somebody else's
				case f.size >= largeRead:
					return &f, nil
				default:
					found = &f
				}
			}
		}
	}
	return found, nil
}
