// Package treemodel tests a file system by random operations. A [Model] has a directory to itself,
// applies each operation to the files and to its own record, and reports every difference.
package treemodel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Files are the files that a model is compared with. Names are relative to the model's directory.
type Files interface {
	Create(name string, data []byte) error // which must not exist
	WriteAt(name string, data []byte, off int64) error
	ReadFile(name string) ([]byte, error)
	Truncate(name string, size int64) error
	Mkdir(name string) error
	Remove(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	Symlink(target, name string) error
	ReadLink(name string) (string, error)
	Chmod(name string, mode fs.FileMode) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (info fs.FileInfo, links int, err error)
}

// thing is a file, a directory or a link in the model. The names of one file share one thing.
type thing struct {
	mode fs.FileMode // type and permissions
	data []byte
	to   string // target of a link
}

// Model is the expected content of a directory, by path.
type Model struct {
	things map[string]*thing
	random *rand.Rand
}

// New returns the model of an empty directory. The two numbers alone determine its operations.
func New(seed, number uint64) *Model {
	return &Model{
		things: map[string]*thing{".": {mode: fs.ModeDir | 0o755}},
		random: rand.New(rand.NewPCG(seed, number)),
	}
}

// pick returns the path of a random thing that satisfies is, or "".
func (m *Model) pick(is func(*thing) bool) string {
	var all []string
	for p, x := range m.things {
		if p != "." && is(x) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all) // the choice must depend on the seed alone, not on the order of a map
	return all[m.random.IntN(len(all))]
}

func isFile(x *thing) bool { return x.mode.IsRegular() }
func isDir(x *thing) bool  { return x.mode.IsDir() }
func isLink(x *thing) bool { return x.mode.Type() == fs.ModeSymlink }
func isAny(*thing) bool    { return true }

// fresh returns a random path, which may be taken already.
func (m *Model) fresh() string {
	dir := "."
	if d := m.pick(isDir); d != "" && m.random.IntN(3) > 0 && strings.Count(d, "/") < 3 {
		dir = d
	}
	return path.Join(dir, string(rune('a'+m.random.IntN(12))))
}

// names returns how many names a thing has.
func (m *Model) names(x *thing) (n int) {
	for _, y := range m.things {
		if x == y {
			n++
		}
	}
	return n
}

// below returns all paths below a directory.
func (m *Model) below(dir string) (all []string) {
	for p := range m.things {
		if strings.HasPrefix(p, dir+"/") {
			all = append(all, p)
		}
	}
	return all
}

func (m *Model) bytes(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(m.random.Uint32())
	}
	return p
}

// Step applies one random operation to the model and the files, and returns an error if they
// differ.
func (m *Model) Step(f Files) error {
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
		err := f.Create(p, data)
		if x != nil {
			return expect("create of what exists", err, fs.ErrExist)
		}
		m.things[p] = &thing{mode: 0o644, data: data}
		return err
	case 2:
		err := f.Mkdir(p)
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
		return f.WriteAt(p, data, int64(off))
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
		return f.Truncate(p, int64(size))
	case 6, 7:
		if p = m.pick(isFile); p == "" {
			return nil
		}
		return compareFile(f, p, m.things[p])
	case 8:
		if p = m.pick(isAny); p == "" {
			return nil
		}
		err := f.Remove(p)
		if isDir(m.things[p]) && len(m.below(p)) > 0 {
			if err == nil {
				return errors.New("a directory that is not empty was removed")
			}
			return nil
		}
		delete(m.things, p)
		return err
	case 9:
		return m.rename(f, m.pick(isAny), p)
	case 10:
		from := m.pick(isFile)
		if from == "" {
			return nil
		}
		err := f.Link(from, p)
		if x != nil {
			return expect("link to what exists", err, fs.ErrExist)
		}
		m.things[p] = m.things[from]
		return err
	case 11:
		to := "to/" + string(m.bytes(1)[0]%26+'a')
		err := f.Symlink(to, p)
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
		return f.Chmod(p, mode)
	default:
		dir := m.pick(isDir)
		if dir == "" {
			dir = "."
		}
		return m.compareDir(f, dir)
	}
}

// rename renames a thing. The new name may be taken already.
func (m *Model) rename(f Files, from, to string) error {
	if from == "" || from == to || strings.HasPrefix(to, from+"/") {
		return nil
	}
	x, y := m.things[from], m.things[to]
	err := f.Rename(from, to)
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

func compareFile(f Files, name string, x *thing) error {
	got, err := f.ReadFile(name)
	if err == nil && !bytes.Equal(got, x.data) {
		err = fmt.Errorf("%s: %d bytes are not the %d that were written", name, len(got), len(x.data))
	}
	return err
}

func (m *Model) compareDir(f Files, dir string) error {
	list, err := f.ReadDir(dir)
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
		return fmt.Errorf("%s has %q, want %q", dir, got, want)
	}
	return nil
}

// Compare returns an error that lists how the files differ from the model.
func (m *Model) Compare(f Files) error {
	var all error
	for _, p := range slices.Sorted(maps.Keys(m.things)) {
		all = errors.Join(all, m.compare(f, p, m.things[p]))
	}
	return all
}

func (m *Model) compare(f Files, p string, x *thing) error {
	info, links, err := f.Lstat(p)
	switch {
	case err != nil:
		return err
	case isLink(x):
		to, err := f.ReadLink(p)
		if err == nil && to != x.to {
			err = fmt.Errorf("%s leads to %q, want %q", p, to, x.to)
		}
		return err
	case p != "." && info.Mode() != x.mode:
		return fmt.Errorf("%s: mode %v, want %v", p, info.Mode(), x.mode)
	case isDir(x):
		return m.compareDir(f, p)
	}
	if n := m.names(x); links != n {
		return fmt.Errorf("%s: %d links, want %d", p, links, n)
	}
	return compareFile(f, p, x)
}
