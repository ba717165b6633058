package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestJSON: --json prints what docs/json.md describes.
func TestJSON(t *testing.T) {
	r := startRig(t)
	for _, args := range [][]string{
		{"mkdir", "-m", "1751", "@/memory/d"},
		{"touch", "@/memory/d/f%FF", "@/memory/d/.hidden"},
		{"ln", "-s", "f<1>", "@/memory/d/l"},
		{"chown", "-h", "--uid=0", "4123456789:4123456789", "@/memory/d", "@/memory/d/f%FF", "@/memory/d/l", "@/memory/d/.hidden"},
		{"chmod", "4640", "@/memory/d/f%FF"},
		{"touch", "-d", "@1136214245.000000005", "@/memory/d", "@/memory/d/f%FF"},
	} {
		done(t, r.exec(t, "tcp", args...))
	}
	unsteady := regexp.MustCompile(`"(device|inode|used|seconds|min|p50|p99|max|(?:total|used|free|available)_(?:bytes|files))":[0-9.e+-]+`)
	changed := regexp.MustCompile(`"(changed|accessed)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"`)
	address := regexp.MustCompile(`"(address|url)":"(rdma://)?127\.0\.0\.1:\d+"`)
	const (
		ids = `"uid":4123456789,"gid":4123456789,`
		at  = `"modified":"2006-01-02T15:04:05.000000005Z","changed":T}` + "\n"
		d   = `"type":"directory","mode":"1751","links":2,` + ids + `"size":4096,"used":N,"device":N,"inode":N,"accessed":T,` + at
		f   = `{"url":"@/memory/d/f%FF","name":"f\ufffd","type":"file","mode":"4640","links":1,` + ids + `"size":0,"used":N,"device":N,"inode":N,"accessed":T,` + at
		l   = `{"url":"@/memory/d/l","name":"l","type":"link","target":"f<1>","mode":"0777","links":1,` + ids + `"size":4,"used":N,"device":N,"inode":N,"accessed":T,"modified":M,"changed":T}` + "\n"
	)
	linkTime := regexp.MustCompile(`("type":"link".*"modified":)"[^"]*"`)
	for _, tt := range []struct{ scheme, args, want string }{
		{"tcp", "ls --json @/memory/d", f + l},
		{"tcp", "ls --json -lrh @/memory/d", l + f},
		{"tcp", "ls --json -U @/memory/d/f%FF", f},
		{"tcp", "ls --json -d @/memory/d", `{"url":"@/memory/d","name":"d",` + d},
		{"tcp", "ls --json @/", `{"url":"@/export","name":"/export","type":"export"}` + "\n" + `{"url":"@/memory","name":"/memory","type":"export"}` + "\n"},
		{"tcp", "stat --json @/memory/d @/memory/d/l", `{"url":"@/memory/d","name":"d",` + d + l},
		{"tcp", "df --json @/memory", `{"url":"@/memory","total_bytes":N,"used_bytes":N,"free_bytes":N,"available_bytes":N,"total_files":N,"free_files":N,"available_files":N}` + "\n"},
		{"rdma", "ping --json --count 3 --interval 0 @", `{A,A,"program":100003,"version":3,"calls":3,"answered":3,"seconds":N,"answer_seconds":{"min":N,"p50":N,"p99":N,"max":N}}` + "\n"},
		{"rdma", "conf --json @", `{A,"program":100400,"private_data":true,` +
			`"setup":{"largest_call":4096,"largest_reply":4096,"reads_at_server":16,"reads_at_client":16},` +
			`"asked":{"largest_call":65536,"largest_reply":65536,"reads_at_client":16},` +
			`"answered":{"largest_call":4096,"reads_at_server":16},` +
			`"in_force":{"largest_call":4096,"largest_reply":65536,"reads_at_server":16,"reads_at_client":16}}` + "\n"},
	} {
		args := strings.Fields(tt.args)
		if last := len(args) - 1; args[last] == "@" {
			args[last] = r.base(tt.scheme)
		}
		got := r.execWhole(t.Context(), tt.scheme, args...)
		text := unsteady.ReplaceAllString(got.stdout, `"$1":N`)
		text = changed.ReplaceAllString(text, `"$1":T`)
		text = linkTime.ReplaceAllString(text, `${1}M`)
		text = strings.ReplaceAll(address.ReplaceAllString(text, "A"), `"url":"@"`, "A")
		if got.code != 0 || got.stderr != "" || text != tt.want {
			t.Errorf("%s: got %d, %q\n%swant\n%s", tt.args, got.code, got.stderr, text, tt.want)
		}
	}
}
