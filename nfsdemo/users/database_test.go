package users_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database knows the users 0 to 3999, named u1000 and so on, and root. It counts look-ups.
type database struct {
	mu    sync.Mutex // guards what follows
	names []string   // that were looked up
	err   error
	hang  chan struct{} // if set, answers wait until it is closed
	more  []uint32      // further groups of all users
}

func newDatabase() *database { return new(database) }

func (d *database) ask(who string) error {
	d.mu.Lock()
	d.names = append(d.names, who)
	hang, err := d.hang, d.err
	d.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return err
}

func (d *database) User(name string) (*vfs.Cred, error) {
	if err := d.ask(name); err != nil {
		return nil, err
	}
	if name == "root" {
		return &vfs.Cred{GIDs: []uint32{0}}, nil
	}
	var uid uint32
	if n, err := fmt.Sscanf(name, "u%d", &uid); n != 1 || err != nil || uid >= 4000 ||
		strings.TrimLeft(name[1:], "0123456789") != "" {
		return nil, fmt.Errorf("%w: %q", users.ErrUnknown, name)
	}
	return &vfs.Cred{UID: uid, GID: 100, GIDs: []uint32{100, 7}}, nil
}

func (d *database) Groups(uid uint32) ([]uint32, error) {
	if err := d.ask(fmt.Sprint(uid)); err != nil {
		return nil, err
	}
	if uid >= 4000 {
		return nil, users.ErrUnknown
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]uint32{uid, 7}, d.more...), nil
}

// join adds a group to all users.
func (d *database) join(gid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.more = append(d.more, gid)
}

// asked returns the number of look-ups.
func (d *database) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.names)
}

func (d *database) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// stop delays answers until letGo is called.
func (d *database) stop() (letGo func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hang := make(chan struct{})
	d.hang = hang
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hang = nil
		close(hang)
	}
}
