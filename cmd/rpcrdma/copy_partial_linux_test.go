package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// goesOn is the message of a copy that goes on with what another has left.
var goesOn = regexp.MustCompile(`^rpcrdma [a-z]+ \S+/file: (\S+ [KM]iB) of 16 MiB are there already, and the same: going on from there\n$`)

// TestCopyPartial: a killed copy goes on after the part that is still the same, even if the source
// or the part has changed.
func TestCopyPartial(t *testing.T) {
	t.Parallel()
	data := rig.Pattern(16 << 20)
	clear(data[1<<20 : 2<<20]) // a hole for --sparse
	eachWay(t, func(t *testing.T, w *copyWay) {
		file := rig.Write(t, filepath.Join(w.source, "file"), data)
		for option, changes := range map[string][]string{
			"-p":       {"nothing", "the source", "what is there", "what is there, to be longer", "all of the source"},
			"--sparse": {"nothing", "what is there"},
		} {
			for _, change := range changes {
				t.Run(option+" "+change, func(t *testing.T) {
					rig.Write(t, file, data)
					want := bytes.Clone(data)
					target := filepath.Join(w.target, "file")
					rig.Write(t, target, []byte("before"))
					temp := killed(t, w, data[:1<<20], "-q", "--partial", option, w.from+"/file", w.to)
					again := 0 // fewest bytes that are copied again
					switch change {
					case "the source":
						want[1000]++
						rig.Write(t, file, want)
						again = len(data)
					case "what is there":
						overwrite(t, temp, 1<<20-10, "not that")
						again = len(data) - 1<<20
					case "what is there, to be longer":
						if err := os.Truncate(temp, 64<<20); err != nil {
							t.Fatal(err)
						}
					case "all of the source":
						want = bytes.Repeat([]byte("other"), 1<<20)
						rig.Write(t, file, want)
						again = len(want)
					}
					rig.Holds(t, target, []byte("before"))
					got := w.exec(t, "rdma", w.command, "--partial", "--json", option, w.from+"/file", w.to)
					var sum struct{ Bytes int }
					if err := json.Unmarshal([]byte(got.stdout), &sum); err != nil || got.code != 0 {
						t.Fatalf("got %+v, %v", got, err)
					}
					m := goesOn.FindStringSubmatch(got.stderr)
					if again < len(want) && m == nil || again == len(want) && strings.Contains(got.stderr, "going on") {
						t.Errorf("got %q", got.stderr)
					}
					if most := len(want) - 1<<20 + 4096; sum.Bytes < again || again < len(want) && sum.Bytes > most {
						t.Errorf("%d bytes were copied again, want %d to %d", sum.Bytes, again, most)
					}
					rig.Holds(t, target, want)
					if left := temporaries(t, w.target); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
					if i, err := os.Stat(target); err != nil || i.Mode() != 0o644 {
						t.Errorf("got %v, %v", i.Mode(), err)
					}
				})
			}
		}
	})
}

// TestPutPartialInterrupted: put says what an interrupt leaves, and goes on with it later. A file
// that did not fit leaves nothing.
func TestPutPartialInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, n int64) {
		if p == nfs3.ProcWrite && n == 5 {
			cancel()
		}
	})
	up := rig.Write(t, filepath.Join(t.TempDir(), "up"), interruptedData)
	got := r.execContext(ctx, "tcp", "put", "--partial", up, "@/memory/file")
	lines := strings.Split(got.stderr, "\n")
	if got.code != cli.ExitInterrupted || len(lines) != 3 || !strings.HasPrefix(lines[0], "rpcrdma put @/memory/.rpcrdma-") ||
		!strings.HasSuffix(lines[0], ": has what was copied so far: with --partial, the same command goes on from there") {
		t.Errorf("got %+v", got)
	}
	down := filepath.Join(t.TempDir(), "down")
	if got := r.exec(t, "tcp", "put", "--partial", up, "@/memory/file"); got.code != 0 {
		t.Errorf("got %+v", got)
	}
	done(t, r.exec(t, "tcp", "get", "-rq", "@/memory", down))
	if got := names(t, down); got != "file" {
		t.Errorf("there are %s", got)
	}
	rig.Holds(t, filepath.Join(down, "file"), interruptedData)

	small := startRig(t, "--memory-size", "8MiB")
	if got := small.exec(t, "tcp", "put", "--partial", up, "@/memory/file"); got.code != 1 || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("got %+v", got)
	}
	if got, want := small.exec(t, "tcp", "ls", "-a", "@/memory"), (outcome{}); got != want {
		t.Errorf("got %+v", got)
	}
}

// overwrite writes into a file.
func overwrite(t *testing.T, name string, off int64, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), off); err != nil {
		t.Fatal(err)
	}
}

// TestCopyPartialPlanted: --partial does not write to a file that others have put under its name,
// nor take it for a copy.
func TestCopyPartialPlanted(t *testing.T) {
	needRoot(t)
	t.Parallel()
	data := rig.Pattern(5 << 20)
	eachWay(t, func(t *testing.T, w *copyWay) {
		file := rig.Write(t, filepath.Join(w.source, "file"), rig.Pattern(16<<20))
		temp := killed(t, w, nil, "-q", "--partial", w.from+"/file", w.to)
		rig.Write(t, file, data)
		secret := filepath.Join(filepath.Dir(w.target), "secret")
		for what, plant := range map[string]func() error{
			"a link":                    func() error { return os.Symlink(secret, temp) },
			"another name of a file":    func() error { return os.Link(secret, temp) },
			"a file of somebody else":   func() error { return os.WriteFile(temp, data[:4<<20], 0o666) },
			"a FIFO":                    func() error { return syscall.Mkfifo(temp, 0o600) },
			"a directory with a file":   func() error { return os.MkdirAll(temp+"/x", 0o755) },
			"a directory that is empty": func() error { return os.Mkdir(temp, 0o755) },
		} {
			t.Run(what, func(t *testing.T) {
				if err := os.RemoveAll(temp); err != nil {
					t.Fatal(err)
				}
				rig.Write(t, secret, []byte("secret"))
				if err := plant(); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(what, "else") {
					if err := os.Chown(temp, 1000, 1000); err != nil {
						t.Fatal(err)
					}
				}
				done(t, w.exec(t, "tcp", w.command, "-q", "--partial", w.from+"/file", w.to))
				rig.Holds(t, filepath.Join(w.target, "file"), data)
				rig.Holds(t, secret, []byte("secret"))
				if i, err := os.Stat(filepath.Join(w.target, "file")); err != nil || fmt.Sprint(i.Mode()) != "-rw-r--r--" {
					t.Errorf("got %v, %v", i, err)
				}
			})
		}
	})
}
