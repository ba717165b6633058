package users_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// principals has the realms EXAMPLE.ORG and OTHER.EXAMPLE, and a map.
func principals(tb testing.TB, db users.Database, mapped string, log *slog.Logger) *users.Principals {
	tb.Helper()
	m, err := users.ParseMap(strings.NewReader(mapped))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := users.NewPrincipals(users.Config{
		Database: db, Realms: []string{"EXAMPLE.ORG", "OTHER.EXAMPLE"}, Map: m, Logger: log})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestPrincipals: which principals are users. The database is asked only for possible user names.
func TestPrincipals(t *testing.T) {
	u1000 := &vfs.Cred{UID: 1000, GID: 100, GIDs: []uint32{100, 7}}
	long := strings.Repeat("u", 600)
	for _, tt := range []struct {
		name, principal string
		want            *vfs.Cred
		asked           string // of the database; "": not asked
	}{
		{"a user", "u1000@EXAMPLE.ORG", u1000, "u1000"},
		{"of the second realm", "u1000@OTHER.EXAMPLE", u1000, "u1000"},
		{"root, whom the rules squash", "root@EXAMPLE.ORG", &vfs.Cred{GIDs: []uint32{0}}, "root"},
		{"nobody knows him", "mallory@EXAMPLE.ORG", nil, "mallory"},
		{"of a realm that is not named", "u1000@ELSEWHERE.EXAMPLE", nil, ""},
		{"a realm in other letters", "u1000@example.org", nil, ""},
		{"below a realm that is named", "u1000@SUB.EXAMPLE.ORG", nil, ""},
		{"a machine", "nfs/host.example.org@EXAMPLE.ORG", nil, ""},
		{"root of a machine", "root/host.example.org@EXAMPLE.ORG", nil, ""},
		{"an instance", "u1000/admin@EXAMPLE.ORG", nil, ""},
		{"no realm", "u1000", nil, ""},
		{"an empty realm", "u1000@", nil, ""},
		{"an empty name", "@EXAMPLE.ORG", nil, ""},
		{"two realms", "u1000@EXAMPLE.ORG@EXAMPLE.ORG", nil, ""},
		{"two marks", "u1000@@EXAMPLE.ORG", nil, ""},
		{"a marked @", `u1000\@x@EXAMPLE.ORG`, nil, ""},
		{"a marked /", `u1000\/x@EXAMPLE.ORG`, nil, ""},
		{"NUL", "u1000\x00@EXAMPLE.ORG", nil, ""},
		{"NUL in the realm", "u1000@EXAMPLE.ORG\x00", nil, ""},
		{"a new line", "u1000\n@EXAMPLE.ORG", nil, ""},
		{"a space", " u1000@EXAMPLE.ORG", nil, ""},
		{"fields of passwd", "u1000:x:0@EXAMPLE.ORG", nil, ""},
		{"no UTF-8", "u\xff1000@EXAMPLE.ORG", nil, ""},
		{"nothing", "", nil, ""},
		{"very long", long + "@EXAMPLE.ORG", nil, ""},
		{"very, very long", strings.Repeat(long, 1000) + "@EXAMPLE.ORG", nil, ""},

		{"mapped to numbers", "alice@ELSEWHERE.EXAMPLE", &vfs.Cred{UID: 5, GID: 6}, ""},
		{"mapped to numbers with groups", "bob/admin@EXAMPLE.ORG",
			&vfs.Cred{UID: 5, GID: 6, GIDs: []uint32{7, 8}}, ""},
		{"mapped to a name", "nfs/build@EXAMPLE.ORG", u1000, "u1000"},
		{"mapped, though of a realm", "u1001@EXAMPLE.ORG", &vfs.Cred{UID: 9, GID: 9}, ""},
		{"mapped to root", "host/build@EXAMPLE.ORG", &vfs.Cred{}, ""},
		{"mapped to nobody who exists", "u1002@EXAMPLE.ORG", nil, "gone"},
	} {
		db := newDatabase()
		p := principals(t, db, `
			alice@ELSEWHERE.EXAMPLE	5:6
			bob/admin@EXAMPLE.ORG 5:6:7,8 # twice
			nfs/build@EXAMPLE.ORG u1000
			host/build@EXAMPLE.ORG 0:0
			u1001@EXAMPLE.ORG 9:9
			u1002@EXAMPLE.ORG gone
		`, slog.New(slog.DiscardHandler))
		for range 2 { // the second time from the cache
			got, err := p.User(t.Context(), near, tt.principal)
			if err != nil || !cmp.Equal(got, tt.want) {
				t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
			}
		}
		if asked := strings.Join(db.names, " "); asked != tt.asked {
			t.Errorf("%s: asked for %q, want %q", tt.name, asked, tt.asked)
		}
	}
}

// TestRealms: a malformed realm is an error, and without realms only the map counts.
func TestRealms(t *testing.T) {
	for _, realm := range []string{"", "A@B", "A/B", "A B", "A\x00", `A\B`} {
		if _, err := users.NewPrincipals(users.Config{Realms: []string{"EXAMPLE.ORG", realm}}); err == nil {
			t.Errorf("%q is a realm", realm)
		}
	}
	db := newDatabase()
	p, err := users.NewPrincipals(users.Config{Database: db, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, principal := range []string{"u1000@EXAMPLE.ORG", "u1000@", "u1000"} {
		if c, err := p.User(t.Context(), near, principal); c != nil || err != nil || db.asked() != 0 {
			t.Errorf("%s: %+v, %v, asked %d times", principal, c, err, db.asked())
		}
	}
}

// TestPrincipalsLog: a principal that is no user is logged once a minute for its host and the
// reason. A map entry that names no user is a warning.
func TestPrincipalsLog(t *testing.T) {
	var log bytes.Buffer
	p := principals(t, newDatabase(), "a@B gone", slog.New(slog.NewTextHandler(&log, nil)))
	for _, tt := range []struct {
		peer                   net.Addr
		principal, level, want string
	}{
		{near, "nfs/host@EXAMPLE.ORG", "INFO",
			"principal=nfs/host@EXAMPLE.ORG why=\"it is not of the form user@REALM\""},
		{near, "eve@NOWHERE", "INFO", "principal=eve@NOWHERE why=\"its realm"},
		{near, "eve@EXAMPLE.ORG", "INFO", "principal=eve@EXAMPLE.ORG why=\"no such user"},
		{near, "a@B", "WARN", "principal=a@B why=\"no such user"},
		{far, "new\nline@EXAMPLE.ORG", "INFO", `principal="new\nline@EXAMPLE.ORG" why=`},
	} {
		log.Reset()
		for _, who := range []string{tt.principal, tt.principal, "x" + tt.principal} {
			if _, err := p.User(t.Context(), tt.peer, who); err != nil {
				t.Fatal(err)
			}
			if tt.level == "WARN" {
				break
			}
		}
		got := log.String()
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, "level="+tt.level+" ") ||
			!strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s, %s", tt.principal, got, tt.level, tt.want)
		}
	}
}

// TestPrincipalsTime: a user is cached for half an hour, a missing user for a minute, and a failure
// not at all. After a failure, users are as they were last.
func TestPrincipalsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase()
		p := principals(t, db, "", slog.New(slog.DiscardHandler))
		user := func(name string, asked int) {
			t.Helper()
			if _, err := p.User(t.Context(), near, name+"@EXAMPLE.ORG"); err != nil || db.asked() != asked {
				t.Errorf("%v, asked %d times, want %d", err, db.asked(), asked)
			}
		}
		user("u1", 1)
		user("eve", 2)
		time.Sleep(time.Minute)
		user("u1", 2)
		user("eve", 3)
		time.Sleep(29 * time.Minute)
		user("u1", 4)
		down := errors.New("down")
		db.fail(down)
		for range 2 {
			if c, err := p.User(t.Context(), near, "u2@EXAMPLE.ORG"); !errors.Is(err, down) || c != nil {
				t.Errorf("%+v, %v", c, err)
			}
		}
		user("u1", 6)
		time.Sleep(30 * time.Minute)
		user("u1", 7) // as he was last
		user("u1", 7)
		db.fail(nil)
		user("u2", 8)
	})
}

// TestHangingDatabase: callers wait at most 5 seconds, all for the same look-up. Look-ups are
// bounded, and late results are used.
func TestHangingDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase()
		p := principals(t, db, "", slog.New(slog.DiscardHandler))
		letGo := db.stop()
		began := time.Now()
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				if c, err := p.User(t.Context(), near, "u1000@EXAMPLE.ORG"); err == nil || c != nil {
					t.Errorf("%+v, %v of a database that hangs", c, err)
				}
			})
		}
		wait.Wait()
		if got := time.Since(began); got != 5*time.Second || db.asked() != 1 {
			t.Errorf("they waited for %v, and asked %d times", got, db.asked())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.User(ctx, near, "u1000@EXAMPLE.ORG"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who is gone: %v", err)
		}
		for i := range 200 {
			wait.Go(func() {
				if _, err := p.User(t.Context(), near, fmt.Sprintf("u%d@EXAMPLE.ORG", i)); err == nil {
					t.Error("no error of a database that hangs")
				}
			})
		}
		wait.Wait()
		if got := db.asked(); got != 4 {
			t.Errorf("%d look-ups have their turn", got)
		}
		letGo()
		synctest.Wait()
		if c, err := p.User(t.Context(), near, "u1000@EXAMPLE.ORG"); err != nil || c == nil || db.asked() != 32 {
			t.Errorf("%+v, %v, asked %d times", c, err, db.asked())
		}
	})
}

// TestHangingDatabaseHoldsUpOnce: a caller waits only once for a hanging look-up, however often it
// calls. So its calls do not occupy all workers of a server.
func TestHangingDatabaseHoldsUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase()
		p := principals(t, db, "", slog.New(slog.DiscardHandler))
		letGo := db.stop()
		began := time.Now()
		for range 100 {
			if _, err := p.User(t.Context(), near, "u1000@EXAMPLE.ORG"); err == nil {
				t.Error("no error of a database that hangs")
			}
		}
		if got := time.Since(began); got != 5*time.Second || db.asked() != 1 {
			t.Errorf("a hundred calls waited for %v, and asked %d times", got, db.asked())
		}
		letGo()
		synctest.Wait()
		if c, err := p.User(t.Context(), near, "u1000@EXAMPLE.ORG"); err != nil || c == nil {
			t.Errorf("when it goes on: %+v, %v", c, err)
		}
	})
}

// TestManyPrincipals: the cache is bounded, however many principals come. Evicted ones are looked
// up again.
func TestManyPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase()
		p := principals(t, db, "", slog.New(slog.DiscardHandler))
		const kept, more = 8192, 1000
		ask := func(i int) {
			if _, err := p.User(t.Context(), near, fmt.Sprintf("eve%d@EXAMPLE.ORG", i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range kept {
			ask(i)
		}
		for i := range kept {
			ask(i)
		}
		if db.asked() != kept {
			t.Errorf("asked %d times for %d", db.asked(), kept)
		}
		for i := range kept + more {
			ask(i)
		}
		// At most this many are still cached.
		before := db.asked()
		for i := range kept + more {
			ask(i)
		}
		if again := db.asked() - before; again < more {
			t.Errorf("%d of %d are known still", kept+more-again, kept+more)
		}
	})
}

// FuzzPrincipal: for any principal, the database is asked at most for a word without separators,
// and the users in the map are found.
func FuzzPrincipal(f *testing.F) {
	for _, s := range []string{"u1000@EXAMPLE.ORG", "nfs/host@EXAMPLE.ORG", "a@@B", "\x00@", `a\@b@EXAMPLE.ORG`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, principal string) {
		db := newDatabase()
		p := principals(t, db, "", slog.New(slog.DiscardHandler))
		c, err := p.User(t.Context(), near, principal)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range db.names {
			if name == "" || strings.ContainsAny(name, "@/\\:\x00\n\t ") ||
				principal != name+"@EXAMPLE.ORG" && principal != name+"@OTHER.EXAMPLE" {
				t.Errorf("%q has %q be asked for", principal, name)
			}
		}
		if c != nil && len(db.names) != 1 {
			t.Errorf("%q is %+v", principal, c)
		}
	})
}
