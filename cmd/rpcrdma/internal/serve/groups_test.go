package serve

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// TestUserGroups: groups are looked up once in a while, for so many users, and who is not known has
// none.
func TestUserGroups(t *testing.T) {
	var now time.Time
	asked := 0
	g := &userGroups{
		log: slog.New(slog.DiscardHandler), now: func() time.Time { return now },
		known: make(map[uint32]knownGroups),
		lookup: func(uid uint32) ([]uint32, error) {
			asked++
			if uid == 0 {
				return nil, errors.New("nobody knows")
			}
			return []uint32{uid, 7}, nil
		},
	}
	expect := func(uid uint32, want []uint32, times int) {
		t.Helper()
		if got := g.of(uid); !slices.Equal(got, want) || asked != times {
			t.Errorf("user %d: %v, asked %d times; want %v, %d", uid, got, asked, want, times)
		}
	}
	expect(1000, []uint32{1000, 7}, 1)
	expect(1000, []uint32{1000, 7}, 1)
	expect(0, nil, 2)
	expect(0, nil, 2)
	now = now.Add(groupsTime)
	expect(1000, []uint32{1000, 7}, 3)
	for i := range uint32(3 * maxGrouped) {
		g.of(5000 + i)
		if len(g.known) > maxGrouped {
			t.Fatalf("%d users are remembered", len(g.known))
		}
	}
}

// TestLookupGroups: the host knows the groups of root.
func TestLookupGroups(t *testing.T) {
	if got, err := lookupGroups(0); err != nil || !slices.Contains(got, 0) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := lookupGroups(1<<32 - 7); err == nil {
		t.Error("no error of a user whom nobody knows")
	}
}
