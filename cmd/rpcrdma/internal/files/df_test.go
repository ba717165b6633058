package files

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestDFRows: the numbers that df derives from the server's.
func TestDFRows(t *testing.T) {
	tests := []struct {
		name  string
		flags dfFlags
		stat  nfs3.FSStat
		want  string
	}{
		{"blocks", dfFlags{}, nfs3.FSStat{TotalBytes: 10240, FreeBytes: 6144, AvailBytes: 4096}, "x 10 4 4 50%"},
		{"rounded up", dfFlags{}, nfs3.FSStat{TotalBytes: 1025, FreeBytes: 1024, AvailBytes: 1023}, "x 2 1 1 1%"},
		{"empty", dfFlags{}, nfs3.FSStat{TotalBytes: 1024, FreeBytes: 1024, AvailBytes: 1024}, "x 1 0 1 0%"},
		{"full", dfFlags{}, nfs3.FSStat{TotalBytes: 1 << 20}, "x 1024 1024 0 100%"},
		{"a kept part", dfFlags{}, nfs3.FSStat{TotalBytes: 100 << 10, FreeBytes: 10 << 10}, "x 100 90 0 100%"},
		{"nothing", dfFlags{}, nfs3.FSStat{}, "x 0 0 0 -"},
		{"more free than there is", dfFlags{}, nfs3.FSStat{TotalBytes: 1024, FreeBytes: 4096, AvailBytes: 1024}, "x 1 0 1 0%"},
		{"as large as can be", dfFlags{}, nfs3.FSStat{TotalBytes: math.MaxUint64, FreeBytes: 1 << 63, AvailBytes: 1 << 63},
			"x 18014398509481984 9007199254740992 9007199254740992 50%"},
		{"human", dfFlags{human: true}, nfs3.FSStat{TotalBytes: 3 << 30, FreeBytes: 3<<30 - 1000, AvailBytes: 1 << 20}, "x 3.0G 1000 1.0M 1%"},
		{"inodes", dfFlags{inodes: true}, nfs3.FSStat{TotalBytes: 1, TotalFiles: 1000, FreeFiles: 900, AvailFiles: 800}, "x 1000 100 800 12%"},
		{"human inodes", dfFlags{inodes: true, human: true}, nfs3.FSStat{TotalFiles: 4096, FreeFiles: 2048, AvailFiles: 2048}, "x 4.0K 2.0K 2.0K 50%"},
		{"no number of inodes", dfFlags{inodes: true}, nfs3.FSStat{TotalBytes: 1024}, "x - - - -"},
	}
	for _, tt := range tests {
		got := strings.Join(tt.flags.row("x", &tt.stat), " ")
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if columns := len(tt.flags.heading()); columns != len(strings.Fields(tt.want)) {
			t.Errorf("%s: %d columns", tt.name, columns)
		}
	}
}

// TestTable: columns are as wide as their contents, in characters.
func TestTable(t *testing.T) {
	var b strings.Builder
	table := cli.Table{{"Name", "Size", "%"}, {"äöü/long", "1", "100%"}, {"x", "123456", "-"}}
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "Name       Size    %\n" +
		"äöü/long      1 100%\n" +
		"x        123456    -\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
