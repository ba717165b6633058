package users_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// asking has groups looked up, and checks who answers.
type asking struct {
	*testing.T
	db   *database
	g    *users.Groups
	peer net.Addr
}

func newAsking(t *testing.T) *asking {
	db := newDatabase()
	return &asking{t, db, users.NewGroups(db, slog.New(slog.DiscardHandler)), near}
}

// expect expects groups, and how often the database was asked so far.
func (a *asking) expect(uid uint32, want []uint32, times int) {
	a.Helper()
	got, err := a.g.Of(a.peer, uid)
	if err != nil || !slices.Equal(got, want) || a.db.asked() != times {
		a.Errorf("user %d: %v, %v, asked %d times; want %v, %d", uid, got, err, a.db.asked(), want, times)
	}
}

// fails expects an error.
func (a *asking) fails(uid uint32, want error, times int) {
	a.Helper()
	got, err := a.g.Of(a.peer, uid)
	if !errors.Is(err, want) || got != nil || a.db.asked() != times {
		a.Errorf("user %d: %v, %v, asked %d times; want %v, %d", uid, got, err, a.db.asked(), want, times)
	}
}

// TestGroups: groups are cached for half an hour. A user that does not exist has none, and is
// looked up again after a minute.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.expect(1000, []uint32{1000, 7}, 1)
		a.expect(1000, []uint32{1000, 7}, 1)
		a.expect(4000, nil, 2)
		a.expect(4000, nil, 2)
		time.Sleep(time.Minute)
		a.expect(1000, []uint32{1000, 7}, 2)
		a.expect(4000, nil, 3)
		time.Sleep(29 * time.Minute)
		a.expect(1000, []uint32{1000, 7}, 4)
	})
}

// TestGroupsFail: a look-up that fails gives the last groups of the user, however old, or else an
// error: never fewer. The first answer after it counts.
func TestGroupsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		down := errors.New("down")
		a.expect(1000, []uint32{1000, 7}, 1)
		a.db.fail(down)
		a.fails(1001, down, 2)
		a.fails(1001, down, 3)
		a.db.fail(nil)
		a.expect(1001, []uint32{1001, 7}, 4)

		a.db.fail(down)
		time.Sleep(48 * time.Hour)
		a.expect(1000, []uint32{1000, 7}, 5)
		a.expect(1000, []uint32{1000, 7}, 5)
		time.Sleep(time.Minute)
		a.expect(1000, []uint32{1000, 7}, 6)
		a.db.fail(nil)
		a.db.join(9)
		time.Sleep(time.Minute)
		a.expect(1000, []uint32{1000, 7, 9}, 7)
	})
}

// TestGroupsOfNobodyLogged: a client cannot fill the log with numbers that no user has.
func TestGroupsOfNobodyLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := users.NewGroups(newDatabase(), slog.New(slog.NewTextHandler(&log, nil)))
		for uid := range uint32(200) {
			if got, err := g.Of(near, 4000+uid%100); len(got) != 0 || err != nil {
				t.Fatal(got, err)
			}
			if uid == 100 {
				time.Sleep(time.Minute)
			}
		}
		synctest.Wait()
		if n := bytes.Count(log.Bytes(), []byte("level=WARN")); n != 2 {
			t.Errorf("%d messages in two minutes:\n%.500s", n, &log)
		}
	})
}

// TestGroupsGone: a user whom the database no longer has keeps the groups until the last answer is
// an hour old, since the database may be down in truth.
func TestGroupsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.expect(1000, []uint32{1000, 7}, 1)
		a.db.fail(users.ErrUnknown)
		time.Sleep(59 * time.Minute)
		a.expect(1000, []uint32{1000, 7}, 2)
		time.Sleep(time.Minute)
		a.expect(1000, nil, 3)
		a.db.fail(nil)
		time.Sleep(time.Minute)
		a.expect(1000, []uint32{1000, 7}, 4)
	})
}

// TestGroupsHang: a caller with earlier groups waits for a database that hangs as long as others,
// once, and gets them.
func TestGroupsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		a.expect(1000, []uint32{1000, 7}, 1)
		time.Sleep(time.Hour)
		letGo := a.db.stop()
		began := time.Now()
		for range 10 {
			a.expect(1000, []uint32{1000, 7}, 2)
		}
		if got := time.Since(began); got != 5*time.Second {
			t.Errorf("ten calls waited for %v", got)
		}
		a.db.join(9)
		letGo()
		synctest.Wait()
		a.expect(1000, []uint32{1000, 7, 9}, 2)
	})
}

// TestHost: the host knows root and its groups, and not every user.
func TestHost(t *testing.T) {
	h := users.Host()
	if got, err := h.Groups(0); err != nil || !slices.Contains(got, 0) {
		t.Errorf("groups of root: %v, %v", got, err)
	}
	if _, err := h.Groups(1<<32 - 7); !errors.Is(err, users.ErrUnknown) {
		t.Errorf("groups of a user whom nobody knows: %v", err)
	}
	if c, err := h.User("root"); err != nil || c.UID != 0 || c.GID != 0 || !slices.Contains(c.GIDs, 0) {
		t.Errorf("root: %+v, %v", c, err)
	}
	if c, err := h.User("no such user here"); !errors.Is(err, users.ErrUnknown) || c != nil {
		t.Errorf("a user whom nobody knows: %+v, %v", c, err)
	}
	p, err := users.NewPrincipals(users.Config{
		Realms: []string{"EXAMPLE.ORG"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.User(context.Background(), near, "root@EXAMPLE.ORG"); err != nil || c == nil || c.UID != 0 {
		t.Errorf("the principal of root: %+v, %v", c, err)
	}
}
