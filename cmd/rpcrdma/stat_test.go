package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestStat(t *testing.T) {
	const layout = "2006-01-02 15:04:05.000000000 -0700"
	shape := func(file, link, kind, size, mode, links string) *regexp.Regexp {
		now := `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} [-+]\d{4}`
		if link != "" {
			link = " Link to: " + link + "\n"
		}
		return regexp.MustCompile(`^    File: @/memory/` + file + "\n" + link + `    Type: ` + kind + `
    Size: ` + size + `
    Used: \d+
    Mode: ` + mode + `
   Links: ` + links + `
    User: 7(?: \(.+\))?
   Group: 8(?: \(.+\))?
  Device: \d+
   Inode: \d+
Accessed: ` + regexp.QuoteMeta(time.Unix(1136214245, 0).Format(layout)) + `
Modified: ` + regexp.QuoteMeta(time.Unix(1136214245, 5).Format(layout)) + `
 Changed: ` + now + `
$`)
	}
	file := shape("d/f%20", "", "regular file", "0", `4640 \(-rwSr-----\)`, "2")
	for _, scheme := range schemes {
		r := startRig(t)
		for _, args := range [][]string{
			{"mkdir", "-m", "1751", "@/memory/d"},
			{"touch", "@/memory/d/f%20"},
			{"ln", "@/memory/d/f%20", "@/memory/d/g"},
			{"ln", "-s", "d/f ", "@/memory/l"},
			{"chown", "-h", "7:8", "@/memory/d", "@/memory/d/f%20", "@/memory/l"},
			{"chmod", "4640", "@/memory/d/f%20"},
			{"touch", "-d", "@1136214245.000000005", "@/memory/d", "@/memory/d/f%20"},
			{"touch", "-a", "-d", "@1136214245", "@/memory/d", "@/memory/d/f%20"},
		} {
			args = append([]string{args[0], "--uid=0"}, args[1:]...)
			if got := r.exec(t, scheme, args...); got != (outcome{}) {
				t.Fatalf("%v: %+v", args, got)
			}
		}
		for _, tt := range []struct {
			args []string
			want *regexp.Regexp
		}{
			{[]string{"stat", "@/memory/d"}, shape("d", "", "directory", `\d+`, `1751 \(drwxr-x--t\)`, "2")},
			{[]string{"stat", "@/memory/d/f%20"}, file},
			{[]string{"stat", "-L", "@/memory/d/f%20"}, file},
			{[]string{"stat", "-L", "@/memory/l"}, shape("l", "", "regular file", "0", `4640 \(-rwSr-----\)`, "2")},
			{[]string{"stat", "@/memory/l"}, regexp.MustCompile(`^    File: @/memory/l\n Link to: d/f \n    Type: symbolic link\n    Size: 4\n(?s:.*)\n    Mode: 0777 \(lrwxrwxrwx\)\n`)},
		} {
			got := r.exec(t, scheme, tt.args...)
			if got.code != cli.ExitOK || got.stderr != "" || !tt.want.MatchString(got.stdout) {
				t.Errorf("%v over %s: exit %d: %s\n%swant\n%v", tt.args, scheme, got.code, got.stderr, got.stdout, tt.want)
			}
		}
		got := r.exec(t, scheme, "stat", "@/memory/none", "@/memory/l/x", "@/memory/l/")
		want := outcome{cli.ExitFailed, "", "rpcrdma stat @/memory/none: no such file or directory\nrpcrdma stat @/memory/l/x: not a directory\nrpcrdma stat @/memory/l/: not a directory\n"}
		if got != want {
			t.Errorf("over %s: got %+v, want %+v", scheme, got, want)
		}
	}
}
