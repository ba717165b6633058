package nfsmount_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

func TestExportOf(t *testing.T) {
	list := func(paths ...string) (l []mount3.Export) {
		for _, p := range paths {
			l = append(l, mount3.Export{Path: p})
		}
		return l
	}
	tests := []struct {
		name    string
		exports []mount3.Export
		path    string
		export  string // "": none
		rest    string
	}{
		{"the export itself", list("/data"), "/data", "/data", ""},
		{"with a slash behind it", list("/data"), "/data/", "/data", ""},
		{"below", list("/data"), "/data/a/b", "/data", "a/b"},
		{"the root", list("/"), "/a/b", "/", "a/b"},
		{"the root of the root", list("/"), "/", "/", ""},
		{"not a prefix of letters", list("/data"), "/database", "", ""},
		{"above", list("/data/sub"), "/data", "", ""},
		{"the longest, last", list("/", "/data", "/data/sub"), "/data/sub/x", "/data/sub", "x"},
		{"the longest, first", list("/data/sub", "/data", "/"), "/data/sub/x", "/data/sub", "x"},
		{"not the longest, for it is beside", list("/data/sub", "/data", "/"), "/data/subway", "/data", "subway"},
		{"the root holds the rest", list("/data", "/"), "/database", "/", "database"},
		{"as the server writes it", list("/data/"), "/data/x", "/data/", "x"},
		{"detours", list("/data"), "//data/./y/../x", "/data", "x"},
		{"without a slash before it", list("/data"), "data/x", "/data", "x"},
		{"no UTF-8", list("/\xff"), "/\xff/\xfe", "/\xff", "\xfe"},
		{"none", nil, "/data", "", ""},
		{"an export without a name is the root", list(""), "/data", "", "data"},
	}
	for _, tt := range tests {
		export, rest, ok := nfsmount.ExportOf(tt.exports, tt.path)
		if want := tt.export != "" || tt.rest != ""; export != tt.export || rest != tt.rest || ok != want {
			t.Errorf("%s: got %q, %q, %t, want %q, %q, %t", tt.name, export, rest, ok, tt.export, tt.rest, want)
		}
	}
}
