package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
)

var nfsCalls = regexp.MustCompile(
	`(?m)^rpcrdma_server_calls_total\{outcome="success",procedure="(\w+)",program="NFS",version="3"\} (\d+)$`)

// callsOf returns how many calls a server has answered, by procedure.
func callsOf(t *testing.T, metrics string) map[string]int {
	t.Helper()
	_, body := getURL(t, metrics+"/metrics")
	calls := make(map[string]int)
	for _, m := range nfsCalls.FindAllStringSubmatch(body, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		calls[m[1]] = n
	}
	return calls
}

// TestCopyCalls counts the calls for copying small files: exactly these for each file, and some for
// each directory.
func TestCopyCalls(t *testing.T) {
	files, directories := soak.Amount(200, 600), soak.Amount(2, 6)
	r := startRig(t, "--metrics", "127.0.0.1:0")
	metrics := metricsURL(t, r.greeting)
	source := t.TempDir()
	for i := range files {
		tree(t, source, fmt.Sprintf("%d/%d:644:content of %d", i%directories, i, i))
	}
	for _, scheme := range schemes {
		for _, tt := range []struct {
			command string
			each    map[string]int // calls
		}{
			{"put -rT", map[string]int{"CREATE": 1, "WRITE": 1, "RENAME": 1}},
			{"put -rT again", map[string]int{"CREATE": 1, "WRITE": 1, "SETATTR": 1, "RENAME": 1}},
			{"put -rpT", map[string]int{"CREATE": 1, "WRITE": 1, "SETATTR": 1, "RENAME": 1}},
			{"cp -rT", map[string]int{"READ": 1, "CREATE": 1, "WRITE": 1, "RENAME": 1}},
			{"get -rT", map[string]int{"READ": 1}},
			{"get -rpT", map[string]int{"READ": 1}},
		} {
			t.Run(scheme+" "+tt.command, func(t *testing.T) {
				up := "@/export/" + scheme
				before := callsOf(t, metrics)
				var flags string
				var verb, again string
				_, _ = fmt.Sscan(tt.command, &verb, &flags, &again)
				switch verb {
				case "put":
					if flags == "-rpT" {
						up += "-p"
					}
					done(t, r.exec(t, scheme, verb, flags, source, up))
				case "cp":
					done(t, r.exec(t, scheme, verb, flags, up, up+"-cp"))
				case "get":
					down := filepath.Join(t.TempDir(), "down")
					done(t, r.exec(t, scheme, verb, flags, up, down))
					if got, want := rig.TreeOf(t, down), rig.TreeOf(t, source); got != want {
						t.Errorf("got\n%swant\n%s", got, want)
					}
				}
				rest := 0
				for name, n := range callsOf(t, metrics) {
					n -= before[name]
					if each := tt.each[name]; each > 0 && n >= each*files {
						n -= each * files
					} else if each > 0 {
						t.Errorf("%d calls of %s, want %d for each of %d files", n, name, each, files)
					}
					rest += n
				}
				if most := 10 * (directories + 1); rest > most {
					t.Errorf("%d further calls for %d directories, want %d at most: before %v, after %v",
						rest, directories, most, before, callsOf(t, metrics))
				}
			})
		}
	}
}
