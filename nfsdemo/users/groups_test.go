package users_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// TestGroups: groups are cached for half an hour. A user that does not exist has none, and is
// looked up again after a minute. After a failure the next call looks up again.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase()
		g := users.NewGroups(db, slog.New(slog.DiscardHandler))
		expect := func(uid uint32, want []uint32, times int) {
			t.Helper()
			if got := g.Of(uid); !slices.Equal(got, want) || db.asked() != times {
				t.Errorf("user %d: %v, asked %d times; want %v, %d", uid, got, db.asked(), want, times)
			}
		}
		expect(1000, []uint32{1000, 7}, 1)
		expect(1000, []uint32{1000, 7}, 1)
		expect(4000, nil, 2)
		expect(4000, nil, 2)
		time.Sleep(time.Minute)
		expect(1000, []uint32{1000, 7}, 2)
		expect(4000, nil, 3)
		time.Sleep(29 * time.Minute)
		expect(1000, []uint32{1000, 7}, 4)
		db.fail(errors.New("down"))
		expect(1001, nil, 5)
		expect(1001, nil, 6)
		db.fail(nil)
		expect(1001, []uint32{1001, 7}, 7)
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
	if c, err := p.User(context.Background(), "root@EXAMPLE.ORG"); err != nil || c == nil || c.UID != 0 {
		t.Errorf("the principal of root: %+v, %v", c, err)
	}
}
