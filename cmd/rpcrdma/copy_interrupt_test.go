package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// interruptedData is more bytes than all WRITEs under way at a time.
var interruptedData = rig.Pattern(9<<20 + 1)

// interrupted is the outcome of an interrupted command.
var interrupted = outcome{cli.ExitInterrupted, "", "rpcrdma: interrupted\n"}

// names returns the names in a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// TestPutInterrupted: wherever put is interrupted, the server has the old file or the renamed new
// one, and no other.
func TestPutInterrupted(t *testing.T) {
	for _, tt := range []struct {
		at nfs3.Proc
		n  int64
	}{{nfs3.ProcCreate, 1}, {nfs3.ProcWrite, 1}, {nfs3.ProcWrite, 7}, {nfs3.ProcCommit, 1}, {nfs3.ProcRename, 1}} {
		for _, scheme := range schemes {
			for _, option := range []string{"-q", "-p", "--sparse"} {
				t.Run(fmt.Sprint(tt.at, tt.n, scheme, option), func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var armed atomic.Bool
					var seen atomic.Int64
					r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, _ int64) {
						if p == tt.at && armed.Load() && seen.Add(1) == tt.n {
							cancel()
						}
					})
					dir := t.TempDir()
					done(t, r.exec(t, "tcp", "put", rig.Write(t, filepath.Join(dir, "old"), []byte("old")), "@/memory/file"))
					up := rig.Write(t, filepath.Join(dir, "up"), interruptedData)
					armed.Store(true)
					got := r.execContext(ctx, scheme, "put", option, up, "@/memory/file")
					armed.Store(false)
					if got != interrupted {
						t.Errorf("got %+v, want %+v", got, interrupted)
					}
					down := filepath.Join(dir, "down")
					done(t, r.exec(t, "tcp", "get", "-r", "@/memory", down))
					if got, want := names(t, down), "file"; got != want {
						t.Errorf("there are %s, want %s", got, want)
					}
					want := []byte("old")
					if tt.at == nfs3.ProcRename { // which is not given up
						want = interruptedData
					}
					rig.Holds(t, filepath.Join(down, "file"), want)
				})
			}
		}
	}
}

// TestGetInterrupted: only the old file is there.
func TestGetInterrupted(t *testing.T) {
	for _, n := range []int64{1, 7} {
		for _, scheme := range schemes {
			for _, option := range []string{"-q", "--sparse"} {
				t.Run(fmt.Sprint(n, scheme, option), func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, i int64) {
						if p == nfs3.ProcRead && i == n {
							cancel()
						}
					})
					done(t, r.exec(t, "tcp", "put", rig.Write(t, filepath.Join(t.TempDir(), "up"), interruptedData), "@/memory/file"))
					here := t.TempDir()
					rig.Write(t, filepath.Join(here, "file"), []byte("old"))
					if got := r.execContext(ctx, scheme, "get", option, "@/memory/file", here); got != interrupted {
						t.Errorf("got %+v, want %+v", got, interrupted)
					}
					if got, want := rig.TreeOf(t, here), `-rw-r--r-- "file" "old"`+"\n"; got != want {
						t.Errorf("got\n%swant\n%s", got, want)
					}
				})
			}
		}
	}
}

// TestPutTreeInterrupted: no file is left in part.
func TestPutTreeInterrupted(t *testing.T) {
	source := t.TempDir()
	for i := range 100 {
		rig.Write(t, filepath.Join(source, fmt.Sprint(i)), rig.Pattern(10000))
	}
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, _ := startStepped(t, func(call context.Context, p nfs3.Proc, i int64) {
				if p == nfs3.ProcWrite && i >= 50 {
					cancel()
					<-call.Done() // until the command has ended, however busy the machine is
				}
			})
			if got := r.execContext(ctx, scheme, "put", "-r", source, "@/memory/up"); got != interrupted {
				t.Errorf("got %+v, want %+v", got, interrupted)
			}
			down := filepath.Join(t.TempDir(), "down")
			done(t, r.exec(t, "tcp", "get", "-r", "@/memory/up", down))
			copied := strings.Fields(names(t, down))
			if len(copied) >= 60 {
				t.Errorf("%d files were copied", len(copied))
			}
			for _, name := range copied {
				rig.Holds(t, filepath.Join(down, name), rig.Pattern(10000))
				if strings.HasPrefix(name, ".") {
					t.Errorf("%s was left", name)
				}
			}
		})
	}
}

// TestArchiveInterrupted: directories that put -a has made and not filled get the mode of their
// source, and the owner may write. put -auT sets the rest.
func TestArchiveInterrupted(t *testing.T) {
	source := t.TempDir()
	inner := filepath.Join(source, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		rig.Write(t, filepath.Join(inner, fmt.Sprint(i)), rig.Pattern(10000))
	}
	chmod := func(dir string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(source, 0o755)
	chmod(inner, 0o550)
	t.Cleanup(func() { chmod(inner, 0o755) })
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, i int64) {
				if p == nfs3.ProcWrite && i == 50 {
					cancel()
				}
			})
			modes := func(want string) {
				t.Helper()
				got := r.exec(t, "tcp", "stat", "@/memory/up", "@/memory/up/inner")
				all := regexp.MustCompile(`Mode: (\d+)`).FindAllStringSubmatch(got.stdout, -1)
				if len(all) != 2 || all[0][1]+" "+all[1][1] != want {
					t.Errorf("modes are not %s: %+v", want, got)
				}
			}
			if got := r.execContext(ctx, scheme, "put", "-a", source, "@/memory/up"); got != interrupted {
				t.Errorf("got %+v, want %+v", got, interrupted)
			}
			modes("0755 0750")
			done(t, r.exec(t, scheme, "put", "-auTq", source, "@/memory/up"))
			modes("0755 0550")
		})
	}
}

// TestInterruptCounted: an interrupt counts as a failure, in the line at the end and in JSON.
func TestInterruptCounted(t *testing.T) {
	up := rig.Write(t, filepath.Join(t.TempDir(), "up"), interruptedData)
	small := rig.Write(t, filepath.Join(t.TempDir(), "small"), nil)
	for _, tt := range []struct {
		args           []string
		stdout, stderr string
	}{
		{[]string{"put", "-v", small, up, "@/memory"}, `^$`,
			`small -> .*\nput: 1 file, .*, 1 failed\nrpcrdma: interrupted\n$`},
		{[]string{"put", up, "@/memory/up"}, `^$`, `^rpcrdma: interrupted\n$`},
		{[]string{"put", "--json", up, "@/memory/up"}, `"files":0,.*"failed":1}\n$`, `^rpcrdma: interrupted\n$`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		small := make(chan struct{}) // closed when the small file, if any, has been copied
		r, _ := startStepped(t, func(ctx context.Context, p nfs3.Proc, i int64) {
			if p == nfs3.ProcWrite && i == 3 {
				select {
				case <-small:
				case <-ctx.Done():
				}
				cancel()
			}
		})
		r.told = func(line []byte) {
			if bytes.Contains(line, []byte("small -> ")) {
				close(small)
			}
		}
		if tt.args[1] != "-v" {
			close(small)
		}
		got := r.execWhole(ctx, "tcp", tt.args...)
		cancel()
		if got.code != cli.ExitInterrupted || !regexp.MustCompile(tt.stdout).MatchString(got.stdout) ||
			!regexp.MustCompile(tt.stderr).MatchString(got.stderr) {
			t.Errorf("%q: got %+v", tt.args[:2], got)
		}
	}
}

// TestPutServerGone: if the server goes away, put says which temporary file may be left.
func TestPutServerGone(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			gone := make(chan struct{})
			r, stop := startStepped(t, func(ctx context.Context, p nfs3.Proc, i int64) {
				if p == nfs3.ProcWrite && i >= 3 {
					if i == 3 {
						close(gone)
					}
					<-ctx.Done() // or the rest might be written before the server ends
				}
			})
			go func() {
				<-gone
				stop()
			}()
			up := rig.Write(t, filepath.Join(t.TempDir(), "up"), interruptedData)
			got := r.exec(t, scheme, "put", "--wait", "0", up, "@/memory/file")
			lines := strings.Split(got.stderr, "\n")
			// By then, nothing listens there any more, or the new connection is just being closed.
			port := "port " + strings.TrimPrefix(r.base(scheme), scheme+"://")
			refused, reset := "nothing listens at "+port+" any more", "cannot connect to "+port+": connection reset by peer; is the address right, and the network up?"
			first := []string{"the server has ended the connection", refused, reset}
			left := []string{refused, reset, port + " takes connections and ends them at once"}
			_, why, told := strings.Cut(strings.Join(lines[1:2], ""),
				": an incomplete file of that name may be left: ")
			if got.code != cli.ExitFailed || len(lines) != 3 || !slices.Contains(first, strings.TrimPrefix(lines[0], "rpcrdma put @/memory/file: ")) ||
				!strings.HasPrefix(lines[1], "rpcrdma put @/memory/.rpcrdma-") || !told || !slices.Contains(left, why) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
