//go:build interop

package nfsclients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
)

// readSize is the most that a client asks for in one READ. The servers here return less, so replies
// are short.
const readSize = 3 << 20

// sizes are the sizes of the files: odd ones, and some larger than one READ or WRITE.
var sizes = []int{0, 1, 3, 4095, 300_001, 5<<20 + 3}

// Check writes, reads and lists files in dir, a directory of an export. A client that can makes dir
// and removes it. For the others it must exist and be empty.
func (c Client) Check(t *testing.T, s Server, export, dir string) {
	t.Helper()
	if err := c.check(s, export, dir); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	}
}

func (c Client) check(s Server, export, dir string) error {
	v, err := c.Mount(s, export)
	if err != nil {
		return fmt.Errorf("mount %s: %w", export, err)
	}
	err = check(v, dir)
	return errors.Join(err, v.Close())
}

func check(v Volume, dir string) error {
	ch, changes := v.(Changer)
	if changes {
		if err := ch.Mkdir(dir); err != nil {
			return fmt.Errorf("mkdir %s: %w", dir, err)
		}
	}
	want := make(map[string]int64)
	for i, n := range sizes {
		name := fmt.Sprintf("file-%d-of-%d", i, n)
		want[name] = int64(n)
		if err := roundTrip(v, dir+"/"+name, n); err != nil {
			return err
		}
	}
	got, err := v.List(dir)
	if err != nil || !maps.Equal(got, want) {
		return fmt.Errorf("list %s: got %v, %v, want %v", dir, got, err, want)
	}
	if !changes {
		return nil
	}
	for name := range want {
		if err := ch.Remove(dir + "/" + name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		break
	}
	if err := ch.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove all of %s: %w", dir, err)
	}
	if got, err := v.List(dir); err == nil {
		return fmt.Errorf("%s was removed, and has %v", dir, got)
	}
	return nil
}

// roundTrip writes and reads a file of n bytes.
func roundTrip(v Volume, name string, n int) error {
	data := Data(n)
	if err := v.Write(name, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	got, err := v.Read(name)
	if err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("read %s: got %d bytes, %v, want the %d that were written", name, len(got), err, n)
	}
	return nil
}

// Data returns n bytes that are the same each time.
func Data(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(p) // never fails
	return p
}

// CheckAll runs Check for several clients at the same time, n times each, in separate directories.
// It skips clients that cannot make directories.
func CheckAll(t *testing.T, clients []Client, s Server, export string, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, c := range clients {
		for i := range n {
			wg.Go(func() { c.Check(t, s, export, fmt.Sprintf("%s-%d", c.Name, i)) })
		}
	}
	wg.Wait()
}
