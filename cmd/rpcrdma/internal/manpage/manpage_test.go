package manpage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/manpage"
)

// pour returns a command with all that a page shows, and a parent.
func pour() (above, cmd *cobra.Command) {
	above = &cobra.Command{Use: "kitchen", Short: "Cook \"fast\""}
	cmd = &cobra.Command{
		Use:   "pour [-n] CUP...",
		Short: "Fill cups",
		Long: `Pour fills cups, *all* of them.
.It begins a line with a dot, and
'with a quote; C:\path and --flag are as they are.

  CUP    a cup
    big  a large one

It ends with ~, ^ and ` + "`.",
		Example: "  kitchen pour cup\n  kitchen pour -n 2 cup",
		Run:     func(*cobra.Command, []string) {},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringP("zeal", "z", "much", "`AMOUNT` of zeal")
	f.IntP("number", "n", 0, "how many")
	f.Bool("secret", false, "not shown")
	_ = f.MarkHidden("secret")
	reach := new(pflag.FlagSet)
	reach.Duration("wait", 0, "how long to wait")
	cli.AddConnectionFlags(cmd, reach)
	hidden := &cobra.Command{Use: "spill", Short: "Spill", Hidden: true,
		Run: func(*cobra.Command, []string) {}}
	above.AddCommand(cmd, hidden)
	return above, cmd
}

// TestWrite: a page has all of --help, unchanged.
func TestWrite(t *testing.T) {
	above, cmd := pour()
	const want = `.TH "KITCHEN\-POUR" "1" "" "go\-rpcrdma v1.2" "User Commands"
.SH "NAME"
kitchen\-pour \- Fill cups
.SH "SYNOPSIS"
.nf
kitchen pour [\-n] CUP... [flags]
.fi
.SH "DESCRIPTION"
Pour fills cups, *all* of them.
\&.It begins a line with a dot, and
\&'with a quote; C:\epath and \-\-flag are as they are.
.PP
.RS "4"
.nf
CUP    a cup
  big  a large one
.fi
.RE
.PP
It ends with \(ti, \(ha and \(ga.
.SH "OPTIONS"
.TP
.B "\-z, \-\-zeal AMOUNT"
AMOUNT of zeal (default "much")
.TP
.B "\-n, \-\-number int"
how many
.TP
.B "\-h, \-\-help"
help for pour
.SH "CONNECTION OPTIONS"
.TP
.B "\-\-wait duration"
how long to wait
.SH "EXAMPLES"
.PP
.RS "4"
.nf
kitchen pour cup
kitchen pour \-n 2 cup
.fi
.RE
.SH "SEE ALSO"
.BR kitchen (1)
`
	var b strings.Builder
	if err := manpage.Write(&b, cmd, "v1.2"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	const wantAbove = `.TH "KITCHEN" "1" "" "go\-rpcrdma v1.2" "User Commands"
.SH "NAME"
kitchen \- Cook "fast"
.SH "SYNOPSIS"
.nf
kitchen command
.fi
.SH "DESCRIPTION"
Cook "fast".
.SH "COMMANDS"
.TP
.B "pour"
Fill cups.
.SH "OPTIONS"
.TP
.B "\-h, \-\-help"
help for kitchen
.SH "SEE ALSO"
.BR kitchen\-pour (1)
`
	b.Reset()
	if err := manpage.Write(&b, above, "v1.2"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantAbove, b.String()); diff != "" {
		t.Error(diff)
	}
}

// full is a file for which there is no room.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWriteFails: a page that cannot be written is an error.
func TestWriteFails(t *testing.T) {
	_, cmd := pour()
	if err := manpage.Write(full{}, cmd, "v1.2"); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
