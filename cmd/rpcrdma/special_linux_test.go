package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestSpecialFiles: what ls and stat print about special files. Devices exist only in the server's
// memory.
func TestSpecialFiles(t *testing.T) {
	r := startRig(t)
	m := mountAs(t, dialTCP(t, r.tcp), 0, "/memory")
	for _, tt := range []struct {
		name string
		kind nfs3.FileType
		rdev nfs3.Specdata
	}{{"fifo", nfs3.TypeFIFO, nfs3.Specdata{}}, {"sock", nfs3.TypeSock, nfs3.Specdata{}},
		{"block", nfs3.TypeBlk, nfs3.Specdata{Major: 8, Minor: 1}}, {"char", nfs3.TypeChr, nfs3.Specdata{Major: 1, Minor: 345}}} {
		o, err := m.Mknod(t.Context(), m.root, tt.name, tt.kind, tt.rdev, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o640}})
		if err != nil {
			t.Fatal(err)
		}
		at := nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 1136214245}}
		if _, err := m.SetAttr(t.Context(), o.File, nfs3.Sattr{Mtime: at}, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := r.exec(t, "rdma", "ls", "-n", "@/memory")
	var lines []string
	for line := range strings.Lines(got.stdout) {
		f := strings.Fields(line)
		if len(f) > 4 {
			f = append(f[:1], append([]string{line[len(f[0]) : len(line)-len(" 2006-01-02 15:04:05 "+f[len(f)-1]+"\n")]}, f[len(f)-1])...)
		}
		lines = append(lines, strings.Join(f, "|"))
	}
	want := "total|0\nbrw-r-----| 1 0 0   8, 1|block\ncrw-r-----| 1 0 0 1, 345|char\nprw-r-----| 1 0 0      0|fifo\nsrw-r-----| 1 0 0      0|sock"
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", s, want, got.stderr)
	}
	for name, want := range map[string]string{
		"block": "    Type: block special file\n  Number: 8, 1\n",
		"char":  "    Type: character special file\n  Number: 1, 345\n",
		"fifo":  "    Type: fifo\n    Size: 0\n",
		"sock":  "    Type: socket\n    Size: 0\n",
	} {
		if got := r.exec(t, "tcp", "stat", "@/memory/"+name); !strings.Contains(got.stdout, want) {
			t.Errorf("%s: got %+v, want %q in it", name, got, want)
		}
	}
	// They can be removed and moved like files.
	if err := unix.Mkfifo(r.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.exec(t, "tcp", "mv", "@/export/fifo", "@/export/other"); got != (outcome{}) {
		t.Errorf("mv: %+v", got)
	}
	if got := r.exec(t, "tcp", "rm", "@/export/other"); got != (outcome{}) {
		t.Errorf("rm: %+v", got)
	}
	if _, err := os.Lstat(r.path("other")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
