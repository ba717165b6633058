package remote

import (
	"strings"
	"unicode"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

// partial is the beginning of an encoded name.
type partial struct {
	typed   string // without an incomplete %XX at the end
	name    string // typed, decoded
	percent string // the incomplete %XX
	wrong   bool   // typed is malformed
}

// parsePartial parses the part of a name that has been typed.
func parsePartial(s string) partial {
	p := partial{typed: s}
	if i := strings.LastIndexByte(s, '%'); i >= 0 && i > len(s)-3 {
		p.typed, p.percent = s[:i], s[i:]
	}
	name, err := reach.Unescape(p.typed)
	p.name, p.wrong = name, err != nil
	return p
}

// hidden reports whether to complete names that begin with a dot.
func (p partial) hidden() bool { return strings.HasPrefix(p.name, ".") }

// completed returns a name that begins with p, encoded, and starting exactly as typed.
func (p partial) completed(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, p.name)
	if !ok || p.wrong {
		return "", false
	}
	rest = escapeForShell(rest)
	if n := len(p.percent); n > 0 {
		if n > len(rest) || !strings.EqualFold(rest[:n], p.percent) {
			return "", false
		}
		rest = p.percent + rest[n:]
	}
	return p.typed + rest, true
}

// escapeForShell is reach.Escape, and also escapes what is special in shells.
func escapeForShell(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, r := range reach.Escape(s) {
		if r < unicode.MaxASCII && strings.ContainsRune("!$&'()*;~", r) {
			b.Write([]byte{'%', digits[r>>4], digits[r&15]})
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
