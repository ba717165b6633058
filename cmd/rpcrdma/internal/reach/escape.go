package reach

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unescape replaces %XX by the bytes they stand for.
func Unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", errPercent
		}
		high, ok1 := hexDigit(s[i+1])
		low, ok2 := hexDigit(s[i+2])
		if !ok1 || !ok2 {
			return "", errPercent
		}
		b.WriteByte(high<<4 | low)
		i += 2
	}
	return b.String(), nil
}

var errPercent = errors.New("a % needs two hexadecimal digits: write %25 for a % in a name")

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// notInURLs are the printable ASCII characters that the path of a URL may not have (RFC 3986
// section 3.3).
const notInURLs = " \"#%<>?[\\]^`{|}"

// Escape writes a path as in URLs. It leaves printable characters of all languages as they are.
func Escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) || strings.ContainsRune(notInURLs, r) {
			for _, c := range []byte(s[:n]) {
				b.Write([]byte{'%', digits[c>>4], digits[c&15]})
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
