package nfs3_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestProcedures: the table is the list of RFC 1813 section 3, and later numbers have no row.
func TestProcedures(t *testing.T) {
	// Names and numbers are those of "program NFS_PROGRAM" in RFC 1813 section 3.
	rfc := []struct {
		name       string
		number     nfs3.Proc
		once, long bool
	}{
		{"NULL", 0, false, false},
		{"GETATTR", 1, false, false},
		{"SETATTR", 2, true, false},
		{"LOOKUP", 3, false, false},
		{"ACCESS", 4, false, false},
		{"READLINK", 5, false, false},
		{"READ", 6, false, false},
		{"WRITE", 7, true, false},
		{"CREATE", 8, true, false},
		{"MKDIR", 9, true, false},
		{"SYMLINK", 10, true, false},
		{"MKNOD", 11, true, false},
		{"REMOVE", 12, true, false},
		{"RMDIR", 13, true, false},
		{"RENAME", 14, true, false},
		{"LINK", 15, true, false},
		{"READDIR", 16, false, true},
		{"READDIRPLUS", 17, false, true},
		{"FSSTAT", 18, false, false},
		{"FSINFO", 19, false, false},
		{"PATHCONF", 20, false, false},
		{"COMMIT", 21, false, false},
	}
	if len(rfc) != nfs3.Procs {
		t.Errorf("%d procedures, the RFC has %d", nfs3.Procs, len(rfc))
	}
	for _, want := range rfc {
		got := want.number.Info()
		if got.Name != want.name || want.number.String() != want.name {
			t.Errorf("procedure %d: %q, want %q", want.number, got.Name, want.name)
		}
		if got.Once != want.once || got.Long != want.long {
			t.Errorf("%s: once %v, long %v", want.name, got.Once, got.Long)
		}
		if got.MaxReply == 0 && want.name != "NULL" {
			t.Errorf("%s has no length of results", want.name)
		}
	}
	if p := nfs3.Proc(nfs3.Procs); p.Info() != (nfs3.ProcInfo{}) || p.String() != "procedure 22" {
		t.Errorf("beyond the last: %+v, %q", p.Info(), p)
	}
}
