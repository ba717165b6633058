package reach

import (
	"testing"
)

func TestChildURL(t *testing.T) {
	for _, tt := range []struct{ url, name, want string }{
		{"rdma://h/e", "a", "rdma://h/e/a"},
		{"rdma://h/e/", "a.b-c_d~", "rdma://h/e/a.b-c_d~"},
		{"tcp://h:1/e?mountport=7", "a", "tcp://h:1/e/a?mountport=7"},
		{"rdma://h/e", "dir/file", "rdma://h/e/dir/file"},
		{"rdma://h/e", "zwölf", "rdma://h/e/zwölf"},
		{"rdma://h/e", "100%?#", "rdma://h/e/100%25%3F%23"},
		{"rdma://h/e", "a b\nc", "rdma://h/e/a%20b%0Ac"},
		{"rdma://h/e", "\xff\xfe", "rdma://h/e/%FF%FE"},
	} {
		if got := ChildURL(tt.url, tt.name); got != tt.want {
			t.Errorf("%q in %s: got %s, want %s", tt.name, tt.url, got, tt.want)
		}
	}
}
