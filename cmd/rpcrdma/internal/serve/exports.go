package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/exports"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// rootMode is the mode of the root directories of file systems in memory, like that of /tmp: no
// user of this host could make directories for others in them.
const rootMode = 0o1777

// Export is an export of --export, --memory or the file of --exports.
type Export struct {
	Name  string // the path by which clients mount it
	Dir   string // of this host; "" means in memory
	Rules []nfsserver.Rule
	// mountPoint is the option mp: the directory that must be a mount point; "" means none.
	mountPoint string
	crossMnt   bool // clients enter what is mounted below
	warnings   []exports.Warning
}

// exportSet is the set of exported file systems.
type exportSet struct {
	cfg *Config
	log *slog.Logger
	nfs *nfsserver.Server
	k   *service // nil: nobody can prove who calls

	changing sync.Mutex // held while what follows changes
	said     []Export   // exports of the command line and the file
	wanted   []Export   // these, and what is mounted below them
	open     map[string]*opened
	failed   map[string]string // exports that cannot be opened, and why
	closing  sync.WaitGroup
	closed   closeErrors
}

// opened is a file system that is exported.
type opened struct {
	Export
	fs     vfs.FS
	is     os.FileInfo // of the directory when it was opened; nil in memory
	closed chan struct{}
}

// closeErrors are the errors of closing file systems.
type closeErrors struct {
	mu  sync.Mutex // guards err
	err error
}

// openExports opens the file systems of exports, and makes the server that exports them.
func openExports(cfg *Config, said []Export, k *service, log *slog.Logger) (_ *exportSet, err error) {
	x := &exportSet{cfg: cfg, log: log, k: k, said: said, open: make(map[string]*opened),
		failed: make(map[string]string)}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	x.wanted = x.withMounts()
	cfg.warnOf(x.said, log)
	warnOverlap(x.said, log)
	for _, e := range x.wanted {
		if cfg.exportsFile != "" && !e.there() {
			log.Warn("the directory of an export does not exist yet", "export", e.Name, "directory", e.Dir)
			continue
		}
		o, err := x.openOne(e)
		if err != nil {
			return nil, err
		}
		x.open[e.Name] = o
	}
	x.nfs, err = nfsserver.New(nfsserver.Config{
		Exports: x.list(), Blocking: cfg.exportsFile != "" || cfg.manageGIDs, Logger: log,
		Groups: cfg.groups(log), GSS: k != nil, User: k.user,
	})
	return x, err
}

// openOne opens the file system of an export.
func (x *exportSet) openOne(e Export) (o *opened, err error) {
	o = &opened{Export: e, closed: make(chan struct{})}
	if e.Dir == "" {
		o.fs, err = openMemory(x.cfg)
		return o, err
	}
	if o.is, err = os.Stat(e.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, directoryError(e, err, os.Geteuid())
	}
	o.fs, err = openDirectory(e, x.said, x.cfg, x.log)
	return o, err
}

// list returns the open exports for the server, in the order of wanted.
func (x *exportSet) list() (list []nfsserver.Export) {
	for _, e := range x.wanted {
		if o := x.open[e.Name]; o != nil {
			list = append(list, nfsserver.Export{Path: e.Name, FS: o.fs, Rules: e.Rules,
				CrossMnt: e.crossMnt, Removed: func() { x.closing.Go(func() { x.end(o) }) }})
		}
	}
	return list
}

// end closes a file system.
func (x *exportSet) end(o *opened) {
	defer close(o.closed)
	c, ok := o.fs.(io.Closer)
	if !ok {
		return
	}
	if err := c.Close(); err != nil {
		x.closed.mu.Lock()
		defer x.closed.mu.Unlock()
		x.closed.err = errors.Join(x.closed.err, err)
	}
}

// close closes the file systems. No calls may be under way.
func (x *exportSet) close() error {
	x.changing.Lock()
	defer x.changing.Unlock()
	for _, o := range x.open {
		x.end(o)
	}
	clear(x.open)
	x.closing.Wait()
	return x.closed.err
}

// reload reads the files of --exports and --map-users again. If it fails, nothing has changed.
func (x *exportSet) reload(ctx context.Context) error {
	said, err := x.cfg.read(ctx)
	if err != nil {
		return err
	}
	known, err := x.k.readUsers(x.cfg, x.log)
	if err != nil {
		return err
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	for _, e := range said {
		if e.Dir == "" || !e.there() {
			continue
		}
		if err := checkDirectory(e.Dir, hostSystem); err != nil {
			return directoryError(e, err, os.Geteuid())
		}
	}
	if x.k != nil {
		x.k.users.Store(known)
	}
	x.cfg.warnOf(said, x.log)
	warnOverlap(said, x.log)
	x.said = said
	x.wanted = x.withMounts()
	return kerberosLater(x.change())
}

// refresh adds and removes exports as their directories come and go.
func (x *exportSet) refresh() error {
	x.changing.Lock()
	defer x.changing.Unlock()
	before := x.wanted
	x.wanted = x.withMounts()
	same := func(a, b Export) bool { return a.Name == b.Name }
	if !slices.EqualFunc(before, x.wanted, same) || slices.ContainsFunc(x.wanted, x.changed) {
		return x.change()
	}
	return nil
}

// withMounts returns the exports said, and an export for each mount point below those with
// crossmnt.
func (x *exportSet) withMounts() []Export {
	all := slices.Clone(x.said)
	for _, e := range x.said {
		if !e.crossMnt || e.Dir == "" {
			continue
		}
		dir, err := resolve(e.Dir)
		var points []string
		if err == nil {
			points, err = mountsBelow(dir)
		}
		if err != nil {
			x.log.Error("cannot tell what is mounted below an export", "export", e.Name, "err", err)
			continue
		}
		for _, p := range points {
			in := e
			in.Name, in.Dir, in.mountPoint = path.Join(e.Name, p[len(dir):]), p, p
			named := func(o Export) bool { return o.Name == in.Name }
			if !slices.ContainsFunc(all, named) { // else it has rules of its own
				all = append(all, in)
			}
		}
	}
	return all
}

// changed reports whether an export must be opened or closed.
func (x *exportSet) changed(e Export) bool {
	o := x.open[e.Name]
	if o == nil {
		return e.there() && x.failed[e.Name] == ""
	}
	return !o.serves(e)
}

// serves reports whether o is still right for the export e. A removed directory stays open until
// another one takes its place; its clients get stale handles.
func (o *opened) serves(e Export) bool {
	switch {
	case o.Dir != e.Dir:
		return false
	case e.Dir == "":
		return true
	case e.mountPoint != "" && !isMountPoint(e.mountPoint):
		return false
	}
	is, err := os.Stat(e.Dir)
	return err != nil || os.SameFile(is, o.is)
}

// change opens and closes exports to match wanted: it first removes the old ones, then adds the new
// ones.
func (x *exportSet) change() error {
	now := x.open
	x.open = make(map[string]*opened)
	for _, e := range x.wanted {
		if o := now[e.Name]; o != nil && o.serves(e) {
			o.Export = e
			x.open[e.Name] = o
		}
	}
	if err := x.nfs.SetExports(x.list()); err != nil {
		x.open = now
		return err
	}
	for name, o := range now {
		if x.open[name] != o {
			x.await(o)
		}
	}
	clear(x.failed)
	var failed error
	for _, e := range x.wanted {
		if x.open[e.Name] != nil {
			continue
		}
		if !e.there() {
			x.log.Warn("the directory of an export does not exist yet", "export", e.Name, "directory", e.Dir)
			continue
		}
		o, err := x.openOne(e)
		if err != nil {
			x.failed[e.Name] = err.Error()
			failed = errors.Join(failed, err)
			continue
		}
		x.open[e.Name] = o
	}
	return errors.Join(failed, x.nfs.SetExports(x.list()))
}

// closeTime bounds the wait for calls to a removed export, before another export takes its place.
const closeTime = 10 * time.Second

// await waits until a file system is closed, because only one at a time may use its state.
func (x *exportSet) await(o *opened) {
	select {
	case <-o.closed:
	case <-time.After(closeTime):
		x.log.Warn("calls for a removed export are still under way", "export", o.Name)
	}
}

// refreshEvery is how often watch checks whether directories have come or gone.
const refreshEvery = 2 * time.Second

// watch calls refresh periodically, and reload on hangups, until ctx ends.
func (x *exportSet) watch(ctx context.Context, hangups <-chan os.Signal) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			daemon.Notify(x.log, daemon.Reloading)
			if err := x.reload(ctx); err != nil {
				x.log.Error("the exports have not changed: the file cannot be used",
					"file", x.cfg.exportsFile, "err", err)
			} else {
				x.log.Info("exports reloaded", "file", x.cfg.exportsFile)
			}
			daemon.Notify(x.log, daemon.Ready)
		case <-tick.C:
			if err := x.refresh(); err != nil {
				x.log.Error("an export cannot be served", "err", err)
			}
		}
	}
}

// there reports whether an export can be served now: its directory exists and, with mp, something
// is mounted there.
func (e Export) there() bool {
	if e.Dir == "" {
		return true
	}
	if e.mountPoint != "" && !isMountPoint(e.mountPoint) {
		return false
	}
	_, err := os.Stat(e.Dir)
	return !errors.Is(err, os.ErrNotExist)
}

// Rule returns the rule of the command line.
func (c *Config) Rule() nfsserver.Rule {
	return nfsserver.Rule{
		Clients: slices.Clone(c.allow), ReadOnly: c.readOnly, Squash: c.squash.Value,
		Anon: &vfs.Cred{UID: c.anonUID, GID: c.anonGID}, Flavors: c.sec,
	}
}

func openMemory(cfg *Config) (vfs.FS, error) {
	fs, err := memfs.New(memfs.Config{Capacity: int64(cfg.memorySize), RootMode: rootMode})
	if err != nil {
		return nil, fmt.Errorf("--memory-size %v: %w", &cfg.memorySize, err)
	}
	return fs, nil
}
