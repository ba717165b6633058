package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
pkg: github.com/rpcrdma/go-rpcrdma/xdr
cpu: some
BenchmarkEncode 	     200	        20.1 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecode/flat         	     200	      1322 ns/op	49577.50 MB/s	      64 B/op	       2 allocs/op
PASS
ok  	github.com/rpcrdma/go-rpcrdma/xdr	0.011s
pkg: github.com/rpcrdma/go-rpcrdma/chunks
BenchmarkEncode 	     200	        20.1 ns/op	     480 B/op	      10 allocs/op
`

func TestParse(t *testing.T) {
	got, err := parse([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	want := allocations{"xdr Encode": 0, "xdr Decode/flat": 2, "chunks Encode": 10}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := readTable(got.append(nil))
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("as a table: %v (-want +got):\n%s", err, diff)
	}
}

func TestParseErrors(t *testing.T) {
	for name, out := range map[string]string{
		"nothing":        "PASS\n",
		"no allocations": "pkg: p\nBenchmarkX 200 20.1 ns/op\n",
		"no number":      "pkg: p\nBenchmarkX 200 20.1 ns/op many allocs/op\n",
		"twice":          output + output,
	} {
		if got, err := parse([]byte(out)); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
	for name, text := range map[string]string{
		"nothing": "# comment\n\n", "no number": "x xdr Encode\n", "no package": "0 Encode\n", "twice": "0 xdr Encode\n1 xdr Encode\n",
	} {
		if got, err := readTable([]byte(text)); err == nil {
			t.Errorf("table, %s: got %v, want an error", name, got)
		}
	}
}

func TestCompare(t *testing.T) {
	allowed := allocations{"xdr Encode": 1}
	for _, tt := range []struct {
		name string
		got  allocations
		bad  int
		say  string
	}{
		{"as many", allocations{"xdr Encode": 1}, 0, ""},
		{"fewer", allocations{"xdr Encode": 0}, 0, "xdr Encode: 0 allocations, fewer than the 1 in the table"},
		{"more", allocations{"xdr Encode": 2}, 1, "xdr Encode: 2 allocations, may make 1\n"},
		{"new", allocations{"xdr Encode": 1, "xdr Decode": 0}, 1, "xdr Decode: not in the table; it makes 0 allocations\n"},
		{"gone", allocations{}, 1, "xdr Encode: in the table, but there is no such benchmark\n"},
		{"renamed", allocations{"xdr Encoding": 1}, 2, "xdr Encoding: not in the table"},
	} {
		r := compare(allowed, tt.got)
		if r.bad != tt.bad || !strings.HasPrefix(r.text, tt.say) || (tt.say == "") != (r.text == "") {
			t.Errorf("%s: got %d bad, %q; want %d, %q", tt.name, r.bad, r.text, tt.bad, tt.say)
		}
	}
}

// TestTable: the table in the repository parses, and writing it gives the same bytes.
func TestTable(t *testing.T) {
	b, err := os.ReadFile("allocs.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(all.append(nil)), strings.ReplaceAll(string(b), "\r\n", "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
