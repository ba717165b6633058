package mount3_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// TestProcedures: the table is the list of RFC 1813 section 5.2, and later numbers have no row.
func TestProcedures(t *testing.T) {
	// Names and numbers are those of "program MOUNT_PROGRAM" in RFC 1813 section 5.2.
	rfc := []struct {
		name          string
		number        mount3.Proc
		long, results bool
	}{
		{"NULL", 0, false, false},
		{"MNT", 1, false, true},
		{"DUMP", 2, true, true},
		{"UMNT", 3, false, false},
		{"UMNTALL", 4, false, false},
		{"EXPORT", 5, true, true},
	}
	if len(rfc) != mount3.Procs {
		t.Errorf("%d procedures, the RFC has %d", mount3.Procs, len(rfc))
	}
	for _, want := range rfc {
		got := want.number.Info()
		if got.Name != want.name || want.number.String() != want.name {
			t.Errorf("procedure %d: %q, want %q", want.number, got.Name, want.name)
		}
		if got.Long != want.long || got.MaxReply > 0 != want.results {
			t.Errorf("%s: long %v, results of %d bytes", want.name, got.Long, got.MaxReply)
		}
	}
	p := mount3.Proc(mount3.Procs)
	if p.Info() != (mount3.ProcInfo{}) || p.String() != "procedure 6" {
		t.Errorf("beyond the last: %+v, %q", p.Info(), p)
	}
}
