package users_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// TestMapErrors: an error in a map names its line.
func TestMapErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"alice@B", "write a principal and a user: 1 words"},
		{"alice@B a b", "write a principal and a user: 3 words"},
		{"alice 1:1", `"alice" is not a principal`},
		{strings.Repeat("x", 600) + "@B 1:1", "is not a principal"},
		{"one@B two", "one@B is there twice"},
		{"alice@B 1000", "user 1000 has no group: write 1000:GID"},
		{"alice@B 1000:", `group "" is not a number`},
		{"alice@B :1000", `user "" is not a number`},
		{"alice@B alice:users", `user "alice" is not a number`},
		{"alice@B -1:0", `user "-1" is not a number`},
		{"alice@B 4294967295:0", `user "4294967295" is not a number from 0 to 4294967294`},
		{"alice@B 1:4294967295", `group "4294967295" is not a number`},
		{"alice@B 1:2:", `group "" is not a number`},
		{"alice@B 1:2:3,,4", `group "" is not a number`},
		{"alice@B 1:2:3:4", `group "3:4" is not a number`},
		{"alice@B al\x00ice", "is not the name of a user"},
		{strings.Repeat("x", 2<<20), "token too long"},
	} {
		_, err := users.ParseMap(strings.NewReader("# a comment\n\none@B 1:1 # another\n" + tt.line + "\n"))
		var e *users.MapError
		if !errors.As(err, &e) || e.Line != 4 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.line, err, tt.want)
		}
	}
}

// TestMapCheck: Check reports names of users that do not exist, with their lines. A number needs no
// user.
func TestMapCheck(t *testing.T) {
	m, err := users.ParseMap(strings.NewReader("a@B u1\nb@B gone\nc@B 7:7\n\nd@B away\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = m.Check(newDatabase())
	want := "line 2: b@B: no such user: \"gone\"\nline 5: d@B: no such user: \"away\""
	if err == nil || err.Error() != want || !errors.Is(err, users.ErrUnknown) {
		t.Errorf("%v, want %s", err, want)
	}
	m, err = users.ParseMap(strings.NewReader("a@B u1\nc@B 7:7\n"))
	if err := errors.Join(err, m.Check(newDatabase())); err != nil {
		t.Error(err)
	}
}

// FuzzParseMap: any file parses as a map or gives an error.
func FuzzParseMap(f *testing.F) {
	f.Add("alice@B 1:2:3,4 # x\nbob@B bob\n")
	f.Add("alice@B\t1:\n\r\n@ :")
	f.Fuzz(func(t *testing.T, file string) {
		if m, err := users.ParseMap(strings.NewReader(file)); (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}
