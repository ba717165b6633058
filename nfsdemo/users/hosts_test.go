package users_test

import (
	"bytes"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// Callers are on two hosts.
var (
	near = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	far  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2)}
)

// TestGroupsOfHosts: a host that asks for users whom nobody has, without end, makes another host
// forget none of its many users, even of those that it asked for first.
func TestGroupsOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		far := &asking{t, a.db, a.g, far}
		const many = 2000
		for uid := range uint32(10) {
			far.expect(uid, []uint32{uid, 7}, int(uid)+1)
		}
		for uid := range uint32(many) {
			a.expect(uid, []uint32{uid, 7}, max(10, int(uid)+1))
		}
		for i := range 20000 {
			far.expect(uint32(4000+i), nil, many+i+1)
		}
		for uid := range uint32(many) {
			a.expect(uid, []uint32{uid, 7}, many+20000)
		}
		far.expect(uint32(24000), nil, many+20001)
		far.expect(0, []uint32{0, 7}, many+20001) // for the sake of the other host
	})
}

// TestLookupsOfHosts: a host whose look-ups hang leaves look-ups and turns for others. Its own
// callers beyond its share do not wait: they get the last answer, or none.
func TestLookupsOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		far := &asking{t, a.db, a.g, far}
		far.expect(1000, []uint32{1000, 7}, 1)
		time.Sleep(time.Hour)
		letGo := a.db.stop()
		var wait sync.WaitGroup
		var failed atomic.Int32
		for i := range 40 {
			wait.Go(func() {
				if _, err := a.g.Of(far.peer, uint32(4000+i)); err != nil {
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		if under := a.db.asked() - 1; under != 4 || failed.Load() != 8 {
			t.Errorf("of 40 look-ups of one host %d have their turn, and %d failed, want 4 and 8",
				under, failed.Load())
		}
		began := time.Now()
		far.expect(1000, []uint32{1000, 7}, 5)
		if got := time.Since(began); got != 0 {
			t.Errorf("a user who is known waited for %v", got)
		}
		wait.Go(func() { a.g.Of(a.peer, 1001) })
		synctest.Wait()
		if a.db.asked() != 6 {
			t.Error("the other host's look-up has no turn")
		}
		letGo()
		wait.Wait()
		if n := a.db.asked(); n != 34 {
			t.Errorf("the database was asked %d times, want 34", n)
		}
	})
}

// TestUnknownOfHosts: the users that one host has made up do not hide those of another in the log.
func TestUnknownOfHosts(t *testing.T) {
	var log bytes.Buffer
	g := users.NewGroups(newDatabase(), slog.New(slog.NewTextHandler(&log, nil)))
	for i := range uint32(100) {
		if _, err := g.Of(far, 4000+i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Of(near, 5000); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(log.Bytes(), []byte("\n")); n != 2 ||
		!bytes.Contains(log.Bytes(), []byte("peer=192.0.2.1:0 uid=5000")) {
		t.Errorf("the log has %d lines:\n%s", n, &log)
	}
}
