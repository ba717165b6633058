package remote

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

// FuzzCompleteName: a completion begins with the word, and decodes to the name.
func FuzzCompleteName(f *testing.F) {
	for _, s := range []struct{ typed, name string }{
		{"", "name"}, {"na", "name"}, {"na%6D", "name"}, {"a%", "a b"}, {"a%2", "a b"}, {"%C3", "ä"}, {"%f", "\xff"},
		{"$", "$(x)"}, {"a%zz", "a"}, {"%%", "%"}, {"%2", "%2"}, {"ä", "ä\n"}, {"\xc3", "ä"},
	} {
		f.Add(s.typed, s.name)
	}
	f.Fuzz(func(t *testing.T, typed, name string) {
		p := parsePartial(typed)
		word, ok := p.completed(name)
		if !ok {
			if before, err := reach.Unescape(typed); err == nil && strings.HasPrefix(name, before) && !strings.ContainsRune(name, 0) {
				t.Errorf("%q does not complete %q", name, typed)
			}
			return
		}
		if !strings.HasPrefix(word, typed) {
			t.Errorf("%q for %q, which it does not begin with", word, typed)
		}
		if got, err := reach.Unescape(word); err != nil || got != name {
			t.Errorf("%q for %q stands for %q, %v", word, name, got, err)
		}
		if rest := word[len(typed):]; strings.ContainsAny(rest, " \t\n\"'`$&|;<>()*?[]{}!#~\\") {
			t.Errorf("%q has characters that mean something to a shell", rest)
		}
	})
}
