package exports

import (
	"fmt"
	"strings"
)

// split splits a line into words, up to a comment. Words may contain quoted parts, and \ooo for a
// byte in octal.
func split(line string) (words []string, err error) {
	var word strings.Builder
	in, quoted := false, false // a word; quotes
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == 0:
			return nil, fmt.Errorf("there is a NUL in it")
		case c == '"':
			quoted, in = !quoted, true
		case !quoted && c == '#' && !in:
			return words, nil
		case !quoted && (c == ' ' || c == '\t' || c == '\r'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case c == '\\' && octal(line[i+1:]):
			n := (line[i+1]-'0')<<6 | (line[i+2]-'0')<<3 | (line[i+3] - '0')
			if n == 0 {
				return nil, fmt.Errorf("there is a NUL in it")
			}
			word.WriteByte(n)
			in = true
			i += 3
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("quotes are not closed")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// octal reports whether s begins with three octal digits of a byte.
func octal(s string) bool {
	return len(s) >= 3 && s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' &&
		s[2] >= '0' && s[2] <= '7'
}
