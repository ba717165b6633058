package crowd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// thing is a file, a directory or a link, as the model has it. Names of one file share it.
type thing struct {
	mode fs.FileMode // type and permissions
	data []byte
	to   string // of a link
}

// model is what is in a client's directory, by path.
type model struct {
	things map[string]*thing
	random *rand.Rand
}

func newModel(seed, number uint64) *model {
	return &model{
		things: map[string]*thing{".": {mode: fs.ModeDir | 0o755}},
		random: rand.New(rand.NewPCG(seed, number)),
	}
}

// pick returns the path of something for which is holds, or "".
func (m *model) pick(is func(*thing) bool) string {
	var all []string
	for p, x := range m.things {
		if p != "." && is(x) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all) // what a seed says must not hang on the order of a map
	return all[m.random.IntN(len(all))]
}

func isFile(x *thing) bool { return x.mode.IsRegular() }
func isDir(x *thing) bool  { return x.mode.IsDir() }
func isLink(x *thing) bool { return x.mode.Type() == fs.ModeSymlink }
func isAny(*thing) bool    { return true }

// fresh returns a path in some directory, which may be taken.
func (m *model) fresh() string {
	dir := "."
	if d := m.pick(isDir); d != "" && m.random.IntN(3) > 0 && strings.Count(d, "/") < 3 {
		dir = d
	}
	return path.Join(dir, string(rune('a'+m.random.IntN(12))))
}

// names returns how many names a thing has.
func (m *model) names(x *thing) (n int) {
	for _, y := range m.things {
		if x == y {
			n++
		}
	}
	return n
}

// below returns what lies in a directory, and below it.
func (m *model) below(dir string) (all []string) {
	for p := range m.things {
		if strings.HasPrefix(p, dir+"/") {
			all = append(all, p)
		}
	}
	return all
}

func (m *model) bytes(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(m.random.Uint32())
	}
	return p
}

// step does one thing, in the model and at the server, and says what differs.
func (m *model) step(ctx context.Context, f *nfsfs.FS, top string) error {
	at := func(p string) string { return path.Join(top, p) }
	p := m.fresh()
	x := m.things[p]
	expect := func(what string, err error, want error) error {
		if want == nil && err != nil || want != nil && !errors.Is(err, want) {
			return fmt.Errorf("%s: %v, want %v", what, err, want)
		}
		return nil
	}
	switch m.random.IntN(14) {
	case 0, 1: // a new file
		data := m.bytes(m.random.IntN(40000))
		file, err := f.OpenFile(ctx, at(p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if x != nil {
			return expect("create of what exists", err, fs.ErrExist)
		}
		if err != nil {
			return err
		}
		m.things[p] = &thing{mode: 0o644, data: data}
		_, err = file.Write(data)
		return errors.Join(err, file.Close())
	case 2:
		err := f.Mkdir(ctx, at(p), 0o755)
		if x != nil {
			return expect("mkdir of what exists", err, fs.ErrExist)
		}
		m.things[p] = &thing{mode: fs.ModeDir | 0o755}
		return err
	case 3, 4: // a part is written
		if p = m.pick(isFile); p == "" {
			return nil
		}
		x = m.things[p]
		off, data := m.random.IntN(len(x.data)+5000), m.bytes(1+m.random.IntN(20000))
		if need := off + len(data) - len(x.data); need > 0 {
			x.data = append(x.data, make([]byte, need)...)
		}
		copy(x.data[off:], data)
		file, err := f.OpenFile(ctx, at(p), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteAt(data, int64(off))
		return errors.Join(err, file.Close())
	case 5:
		if p = m.pick(isFile); p == "" {
			return nil
		}
		x = m.things[p]
		size := m.random.IntN(50000)
		if size < len(x.data) {
			x.data = x.data[:size:size]
		} else {
			x.data = append(x.data, make([]byte, size-len(x.data))...)
		}
		return f.Truncate(ctx, at(p), int64(size))
	case 6, 7:
		if p = m.pick(isFile); p == "" {
			return nil
		}
		return m.compareFile(ctx, f, at(p), m.things[p])
	case 8:
		if p = m.pick(isAny); p == "" {
			return nil
		}
		err := f.Remove(ctx, at(p))
		if isDir(m.things[p]) && len(m.below(p)) > 0 {
			if err == nil {
				return errors.New("a directory that is not empty was removed")
			}
			return nil
		}
		delete(m.things, p)
		return err
	case 9:
		return m.rename(ctx, f, m.pick(isAny), p, at)
	case 10:
		from := m.pick(isFile)
		if from == "" {
			return nil
		}
		err := f.Link(ctx, at(from), at(p))
		if x != nil {
			return expect("link to what exists", err, fs.ErrExist)
		}
		m.things[p] = m.things[from]
		return err
	case 11:
		to := "to/" + string(m.bytes(1)[0]%26+'a')
		err := f.Symlink(ctx, to, at(p))
		if x != nil {
			return expect("symlink of what exists", err, fs.ErrExist)
		}
		m.things[p] = &thing{mode: fs.ModeSymlink | 0o777, to: to}
		return err
	case 12:
		if p = m.pick(isFile); p == "" {
			return nil
		}
		mode := fs.FileMode(0o600 | m.random.IntN(0o100))
		m.things[p].mode = mode
		return f.Chmod(ctx, at(p), mode)
	default:
		dir := m.pick(isDir)
		if dir == "" {
			dir = "."
		}
		return m.compareDir(ctx, f, at(dir), dir)
	}
}

// rename gives a thing another name, which something may have.
func (m *model) rename(
	ctx context.Context, f *nfsfs.FS, from, to string, at func(string) string,
) error {
	if from == "" || from == to || strings.HasPrefix(to, from+"/") {
		return nil
	}
	x, y := m.things[from], m.things[to]
	err := f.Rename(ctx, at(from), at(to))
	switch {
	case y != nil && isDir(x) != isDir(y), y != nil && isDir(y) && len(m.below(to)) > 0:
		if err == nil {
			return fmt.Errorf("rename of %s over %s, which it cannot replace", from, to)
		}
		return nil
	case err != nil:
		return err
	case x == y: // two names of a file: nothing happens
		return nil
	}
	for _, p := range m.below(from) {
		m.things[to+strings.TrimPrefix(p, from)] = m.things[p]
		delete(m.things, p)
	}
	m.things[to] = x
	delete(m.things, from)
	return nil
}

func (m *model) compareFile(ctx context.Context, f *nfsfs.FS, name string, x *thing) error {
	file, err := f.Open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	got, err := io.ReadAll(file)
	if err == nil && !bytes.Equal(got, x.data) {
		err = fmt.Errorf("%s: %d bytes are not the %d that were written", name, len(got), len(x.data))
	}
	return err
}

func (m *model) compareDir(ctx context.Context, f *nfsfs.FS, name, dir string) error {
	list, err := f.ReadDir(ctx, name)
	if err != nil {
		return err
	}
	var got, want []string
	for _, e := range list {
		got = append(got, e.Name()+" "+e.Type().String())
	}
	for p, x := range m.things {
		if p != "." && path.Dir(p) == dir {
			want = append(want, path.Base(p)+" "+x.mode.Type().String())
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s has %q, want %q", name, got, want)
	}
	return nil
}

// compare compares all.
func (m *model) compare(ctx context.Context, f *nfsfs.FS, top string) error {
	var err error
	for _, p := range slices.Sorted(maps.Keys(m.things)) {
		x, name := m.things[p], path.Join(top, p)
		info, serr := f.Lstat(ctx, name)
		switch {
		case serr != nil:
			err = errors.Join(err, serr)
			continue
		case !isLink(x) && info.Mode() != x.mode:
			err = errors.Join(err, fmt.Errorf("%s: mode %v, want %v", name, info.Mode(), x.mode))
		}
		switch {
		case isFile(x):
			if n := m.names(x); int(info.Attr().Nlink) != n {
				err = errors.Join(err, fmt.Errorf("%s: %d links, want %d", name, info.Attr().Nlink, n))
			}
			err = errors.Join(err, m.compareFile(ctx, f, name, x))
		case isDir(x):
			err = errors.Join(err, m.compareDir(ctx, f, name, p))
		default:
			to, lerr := f.ReadLink(ctx, name)
			if lerr == nil && to != x.to {
				lerr = fmt.Errorf("%s leads to %q, want %q", name, to, x.to)
			}
			err = errors.Join(err, lerr)
		}
	}
	return err
}
