//go:build linux

package dirfs

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestTornLog: a log that was cut off anywhere, or has any wrong byte, costs hints and nothing else.
func TestTornLog(t *testing.T) {
	f := openState(t)
	handles := make(map[string]nfs3.FH)
	d := mkdir(t, f, f.Root(), "dir")
	for _, name := range []string{"one", "two", "three"} {
		handles[name] = createIn(t, f, d, name)
		write(t, f, handles[name], 0, []byte(name))
	}
	if _, err := f.Remove(t.Context(), super, d, "two"); err != nil {
		t.Fatal(err)
	}
	delete(handles, "two")
	must(t, f.Close())
	cfg := configOf(f)
	log := filepath.Join(cfg.State, hintsFile)
	whole, err := os.ReadFile(log)
	must(t, err)
	check := func(what string, at int, b []byte) {
		must(t, os.WriteFile(log, b, 0o600))
		f, err := New(cfg)
		if err != nil {
			t.Fatalf("%s %d of %d: %v", what, at, len(whole), err)
		}
		defer f.Close()
		for name, h := range handles {
			wantData(t, f, h, name)
		}
		if t.Failed() {
			t.Fatalf("%s %d of %d", what, at, len(whole))
		}
	}
	for i := range len(whole) + 1 {
		check("cut off at", i, whole[:i])
	}
	for i := range whole {
		b := append([]byte(nil), whole...)
		b[i] ^= 0x41
		check("wrong at", i, b)
	}
	check("garbage behind", len(whole), append(whole[:len(whole):len(whole)], make([]byte, 1000)...))
	check("absent", 0, nil)
}

// TestLogIsWrittenBefore: when a client has a handle, its name is in the log, even if the server
// crashes.
func TestLogIsWrittenBefore(t *testing.T) {
	f := openState(t)
	defer f.Close()
	ctx := t.Context()
	d := mkdir(t, f, f.Root(), "dir")
	must(t, os.WriteFile(filepath.Join(f.tree.host.path, "dir", "seen"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(f.tree.host.path, "dir", "listed"), nil, 0o644))
	create := createIn(t, f, d, "created")
	seen, _, err := f.Lookup(ctx, super, d, "seen")
	must(t, err)
	want := map[nfs3.FH]string{d: "dir", create: "created", seen.File: "seen"}
	walkAll(t, f, d, true, 100, func(e *nfs3.Entry) {
		if e.Name == "listed" {
			want[e.File.FH] = "listed"
		}
	})
	b, err := os.ReadFile(stateFile(f, hintsFile))
	must(t, err)
	after := emptyTable()
	after.load(b)
	for h, name := range want {
		n, err := f.tree.table.find(&h)
		must(t, err)
		if got := after.nodes[n.key]; got == nil || len(got.hints) != 1 || got.hints[0].name != name {
			t.Errorf("%s is not in the log", name)
		}
	}
}

// TestLogDoesNotGrow: it is written anew when most of it is of the past.
func TestLogDoesNotGrow(t *testing.T) {
	f := openState(t)
	h := create(t, f, "file")
	n, err := f.tree.table.find(&h)
	must(t, err)
	for i := range 40000 {
		name := "name" + strings.Repeat("x", i%200)
		f.tree.table.enter(n, hint{f.tree.root.key, name})
		f.tree.table.leave(n, hint{f.tree.root.key, name})
		f.tree.table.keep()
	}
	st, err := os.Stat(stateFile(f, hintsFile))
	must(t, err)
	if st.Size() > 2<<20 {
		t.Errorf("the log has %d bytes", st.Size())
	}
	f = restart(t, f)
	defer f.Close()
	if n, _ := f.tree.table.get(n.key); n == nil || len(n.hints) != 1 || n.hints[0].name != "file" {
		t.Errorf("%+v", n)
	}
}

// TestStateFull: when there is no room for names any more, that is logged, once, and all goes on. What is in the log
// stays good.
func TestStateFull(t *testing.T) {
	state := t.TempDir()
	mountOn(t, state, "tmpfs", "tmpfs", 0, "size=32k,mode=0700")
	var log bytes.Buffer
	cfg := Config{Path: tempDir(t), State: state, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	f, err := New(cfg)
	must(t, err)
	d := mkdir(t, f, f.Root(), "dir")
	const files = 1000
	fill(t, filepath.Join(cfg.Path, "dir"), files)
	want := make(map[nfs3.FH]bool)
	for range 2 {
		walkAll(t, f, d, true, 100, func(e *nfs3.Entry) { want[e.File.FH] = true })
	}
	if len(want) != files+2 {
		t.Errorf("%d handles", len(want))
	}
	if n := strings.Count(log.String(), "names of files cannot be kept"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
	must(t, f.Close())
	whole, err := os.ReadFile(filepath.Join(state, hintsFile))
	must(t, err)
	for rest := whole; len(rest) > 0; {
		_, _, _, n := parseRecord(rest)
		if n == 0 {
			t.Fatalf("the log is good up to %d of %d bytes", len(whole)-len(rest), len(whole))
		}
		rest = rest[n:]
	}
	// There is no room to begin the log anew, either.
	if f, err := New(cfg); err == nil {
		f.Close()
		t.Error("no error without room for the state")
	} else if !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	must(t, unix.Mount("", state, "", unix.MS_REMOUNT, "size=1m"))
	f, err = New(cfg)
	must(t, err)
	defer f.Close()
	for h := range want {
		if _, err := f.GetAttr(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
}
