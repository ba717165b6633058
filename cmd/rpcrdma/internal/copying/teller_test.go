package copying

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// TestSettle: each file is counted once, as what became of it.
func TestSettle(t *testing.T) {
	name := func(s string) func() string { return func() string { return s } }
	bad := words.About("a", words.ErrDirectory)
	for _, tt := range []struct {
		name                   string
		opt                    telling
		err                    error
		files, skipped, failed int64
		want                   string
	}{
		{"copied", telling{}, nil, 1, 0, 0, ""},
		{"copied, -v", telling{verbose: true}, nil, 1, 0, 0, "a -> b\n"},
		{"copied, --dry-run -v", telling{verbose: true, dryRun: true}, nil, 1, 0, 0, ""},
		{"skipped", telling{}, skippedError("it exists"), 0, 1, 0, ""},
		{"skipped, -v", telling{verbose: true}, skippedError("it exists"), 0, 1, 0, "a: skipped: it exists\n"},
		{"failed", telling{}, bad, 0, 0, 1, "rpcrdma cp a: is a directory: -r copies it\n"},
	} {
		var out bytes.Buffer
		c := &teller{opt: tt.opt, verb: "cp", bar: &cli.Bar{W: &out}}
		if err := c.settle(t.Context(), tt.err, name("a"), name("b")); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := [...]int64{c.files.Load(), c.skipped.Load(), c.failed.Load()}
		if want := [...]int64{tt.files, tt.skipped, tt.failed}; got != want || out.String() != tt.want {
			t.Errorf("%s: counted %v and wrote %q, want %v and %q", tt.name, got, &out, want, tt.want)
		}
	}
}
