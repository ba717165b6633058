package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
)

func TestLsDirectory(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "loop of links", files: []string{"l -> m", "m -> l", "d/e -> .."}, args: "ls @/export/l @/export/m", stdout: "@/export/l\n@/export/m\n"},
		{name: "into a loop", files: []string{"l -> m", "m -> l"}, args: "ls @/export/l/", code: 1, stderr: "ls @/export/l/: too many symbolic links\n"},
		{name: "links are not gone into", files: []string{"d/e -> ..", "d/f -> .", "d/g=1"}, args: "ls -R @/export",
			stdout: "@/export:\nd\n\n@/export/d:\ne\nf\ng\n"},
		{name: "names that URLs need encoded", files: []string{"a b%/c?#=1"}, args: "ls -R @/export/a%20b%25 @/export/a%20b%25/c%3F%23",
			stdout: "@/export/a%20b%25/c%3F%23\n\n@/export/a%20b%25:\nc?#\n"},
		{name: "encoded by ls", files: []string{"a b%/\xff=1"}, args: "ls -R @/export", stdout: "@/export:\na b%\n\n@/export/a%20b%25:\n\xff\n"},
	})
}

// TestLsLarge: directories that take many calls to list.
func TestLsLarge(t *testing.T) {
	r := startRig(t)
	var want []string
	for i := range soak.Amount(1000, 2500) {
		name := fmt.Sprintf("a rather long name, so that few of them fit in one reply, %d", i)
		r.file(t, "dir/"+name, "")
		want = append(want, name)
	}
	slices.Sort(want)
	for _, scheme := range schemes {
		got := r.exec(t, scheme, "ls", "@/export/dir")
		if got.code != cli.ExitOK || got.stderr != "" || got.stdout != strings.Join(want, "\n")+"\n" {
			t.Errorf("over %s: exit %d, %d bytes: %s", scheme, got.code, len(got.stdout), got.stderr)
		}
		if got := r.exec(t, scheme, "ls", "-l", "@/export/dir"); strings.Count(got.stdout, "\n-rw-r--r-- 1 ") != len(want) {
			t.Errorf("-l over %s: exit %d, %d lines: %s", scheme, got.code, strings.Count(got.stdout, "\n"), got.stderr)
		}
	}
}

// TestLsTerminal: on a terminal, names with control characters are quoted.
func TestLsTerminal(t *testing.T) {
	terminal, shown := openTerminal(t)
	r := startRig(t)
	r.build(t, "plain=1", "a\x1b[31mb=1", "\xff=1", "zwölf -> \x07")
	var stderr bytes.Buffer
	for _, args := range [][]string{{"ls", "-U", "-l", r.base("tcp") + "/export"}, {"stat", r.base("tcp") + "/export/zwölf"}} {
		if code := run(t.Context(), args, terminal, &stderr); code != cli.ExitOK {
			t.Fatalf("exit %d: %s", code, &stderr)
		}
	}
	terminal.Close()
	got := shown()
	for _, want := range []string{` plain`, ` "a\x1b[31mb"`, ` "\xff"`, ` zwölf -> "\a"`, `Link to: "\a"`} {
		if !strings.Contains(got, want+"\r\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// openTerminal returns a terminal, and a function for what was written to it until it was closed.
func openTerminal(t *testing.T) (terminal *os.File, shown func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(master) // ends with EIO when the terminal is closed
		all <- b.String()
	}()
	return terminal, func() string { return <-all }
}
