package exports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/exports"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// odd is a file that is hard to read. interop/exportfs asks exportfs about it.
type odd struct {
	Why, File string
	Exportfs  []string // what it exports: PATH CLIENT(OPTION,...)
	Ours      []string // what we export, where that is something else
	Error     string   // of ours, instead
}

// TestExportfs: a file is read as exportfs reads it, or has an error.
func TestExportfs(t *testing.T) {
	b, err := os.ReadFile("testdata/exportfs.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []odd
	if err := json.Unmarshal(b, &all); err != nil || len(all) < 50 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	for _, o := range all {
		list, err := exports.Parse(strings.NewReader(o.File))
		var e *exports.Error
		if err != nil || o.Error != "" {
			if o.Error == "" || !errors.As(err, &e) || !strings.Contains(err.Error(), o.Error) {
				t.Errorf("%s:\n%s\n%v, want %q", o.Why, o.File, err, o.Error)
			}
			continue
		}
		want := o.Exportfs
		if o.Ours != nil {
			want = o.Ours
		}
		if diff := cmp.Diff(want, tableOf(t, list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", o.Why, o.File, diff)
		}
	}
}

// tableOf returns the clients that count, by path, in the order of the rules.
func tableOf(t *testing.T, list []exports.Export) (all []string) {
	t.Helper()
	slices.SortFunc(list, func(a, b exports.Export) int {
		return strings.Compare(escaped(a.Path), escaped(b.Path))
	})
	for _, x := range list {
		rules, err := x.Rules(t.Context(), known)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for _, r := range rules {
			client := "*"
			if len(r.Clients) > 0 {
				client = r.Clients[0].String()
				if r.Clients[0].IsSingleIP() {
					client = r.Clients[0].Addr().String()
				}
			}
			if !seen[client] {
				seen[client] = true
				all = append(all, fmt.Sprintf("%s %s(%s)", escaped(x.Path), client, optionsOf(r)))
			}
		}
	}
	return all
}

// escaped returns a path as exportfs prints it.
func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c <= ' ' || c == 0x7f || strings.IndexByte(`"\#`, c) >= 0 {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// optionsOf returns the options of a rule in the order of exportfs, without defaults.
func optionsOf(r nfsserver.Rule) string {
	some := []string{map[bool]string{true: "ro", false: "rw"}[r.ReadOnly]}
	if !r.Privileged {
		some = append(some, "insecure")
	}
	switch r.Squash {
	case nfsserver.SquashRoot:
	case nfsserver.SquashNone:
		some = append(some, "no_root_squash")
	case nfsserver.SquashAll:
		some = append(some, "all_squash")
	}
	if r.Anon.UID != nfsserver.Nobody {
		some = append(some, fmt.Sprintf("anonuid=%d", r.Anon.UID))
	}
	if r.Anon.GID != nfsserver.Nobody {
		some = append(some, fmt.Sprintf("anongid=%d", r.Anon.GID))
	}
	return strings.Join(some, ",")
}
