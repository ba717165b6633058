package main

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTouch(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "new", args: "touch @/export/a @/export/-c @/export/%FF%20", tree: []string{`-rw-r--r-- "-c" ""`, `-rw-r--r-- "a" ""`, `-rw-r--r-- "\xff " ""`}},
		{name: "there", files: []string{"a=1", "0600 a"}, args: "touch @/export/a"},
		{name: "none is made", args: "touch -c @/export/a"},
		{name: "where a link leads", files: []string{"l -> a"}, args: "touch @/export/l", tree: []string{`-rw-r--r-- "a" ""`, `L "l" -> "a"`}},
		{name: "no directory", args: "touch @/export/d/a @/export/d/ @/export/b", code: 1,
			stderr: "touch @/export/d/a: no such file or directory\ntouch @/export/d/: no such file or directory\n", tree: []string{`-rw-r--r-- "b" ""`}},
		{name: "the root", args: "touch @/export @/export/"},
		{name: "no time", args: "touch -d tomorrow @/export/a", code: 2,
			stderr: "rpcrdma: tomorrow is not a time: write 2006-01-02T15:04:05Z, 2006-01-02 or @SECONDS\nRun 'rpcrdma touch --help' for usage.\n"},
		{name: "empty time", args: "touch --date= @/export/a", code: 2,
			stderr: "rpcrdma: \"\" is not a time: write 2006-01-02T15:04:05Z, 2006-01-02 or @SECONDS\nRun 'rpcrdma touch --help' for usage.\n"},
		{name: "two times", args: "touch -d @1 -r @/export/b @/export/a", code: 2,
			stderr: "rpcrdma: use only one of -d and -r: both say which time to set\nRun 'rpcrdma touch --help' for usage.\n"},
		{name: "reference is missing", args: "touch -r @/export/b @/export/a", code: 1, stderr: "touch @/export/b: no such file or directory\n"},
	})
}

// TestTouchTimes: which times touch sets, and to what.
func TestTouchTimes(t *testing.T) {
	r := startRig(t)
	for _, scheme := range schemes {
		for _, tt := range []struct {
			args         []string
			atime, mtime time.Time // zero: the present
		}{
			{[]string{}, time.Time{}, time.Time{}},
			{[]string{"-a"}, time.Time{}, time.Unix(2, 22)},
			{[]string{"-m"}, time.Unix(1, 11), time.Time{}},
			{[]string{"-a", "-m"}, time.Time{}, time.Time{}},
			{[]string{"-d", "@5.000000007"}, time.Unix(5, 7), time.Unix(5, 7)},
			{[]string{"-a", "-d", "@5"}, time.Unix(5, 0), time.Unix(2, 22)},
			{[]string{"-m", "-d", "@5"}, time.Unix(1, 11), time.Unix(5, 0)},
			{[]string{"-r", "@/export/other"}, time.Unix(3, 33), time.Unix(4, 44)},
			{[]string{"-a", "-r", "@/export/other"}, time.Unix(3, 33), time.Unix(2, 22)},
			{[]string{"-c", "-d", "2106-02-07T06:28:15Z"}, time.Unix(1<<32-1, 0), time.Unix(1<<32-1, 0)},
		} {
			r.clear(t)
			r.build(t, "file=1", "other=2")
			for name, at := range map[string][2]time.Time{"file": {time.Unix(1, 11), time.Unix(2, 22)}, "other": {time.Unix(3, 33), time.Unix(4, 44)}} {
				if err := os.Chtimes(r.path(name), at[0], at[1]); err != nil {
					t.Fatal(err)
				}
			}
			before := time.Now().Add(-time.Minute) // a file system's clock may be coarse
			if got := r.exec(t, scheme, append(append([]string{"touch"}, tt.args...), "@/export/file")...); got != (outcome{}) {
				t.Errorf("%v: got %+v", tt.args, got)
			}
			var st unix.Stat_t
			if err := unix.Lstat(r.path("file"), &st); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name string
				got  unix.Timespec
				want time.Time
			}{{"atime", st.Atim, tt.atime}, {"mtime", st.Mtim, tt.mtime}} {
				got := time.Unix(c.got.Unix())
				if ok := got.Equal(c.want) || c.want.IsZero() && got.After(before); !ok {
					t.Errorf("%v over %s: %s %v, want %v", tt.args, scheme, c.name, got, c.want)
				}
			}
		}
	}
}
