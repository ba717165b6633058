package krb5

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jcmturner/gokrb5/v8/types"
)

// Kinds of names (RFC 4120 section 6.2).
const (
	nameTypePrincipal   = 1
	nameTypeServiceInst = 2
	nameTypeServiceHost = 3
)

// principal is the name of a user or service at a KDC.
type principal struct {
	name  []string // its components
	realm string
}

func principalOf(n types.PrincipalName, realm string) principal {
	return principal{n.NameString, realm}
}

// wire returns the name in the form of messages.
func (p principal) wire(kind int32) types.PrincipalName {
	return types.PrincipalName{NameType: kind, NameString: p.name}
}

func (p principal) equal(q principal) bool {
	return p.realm == q.realm && slices.Equal(p.name, q.name)
}

var (
	escapes = []string{
		`\`, `\\`, "@", `\@`, "\n", `\n`, "\t", `\t`, "\b", `\b`, "\x00", `\0`,
	}
	escapesRealm = strings.NewReplacer(escapes...)
	escapesName  = strings.NewReplacer(append([]string{"/", `\/`}, escapes...)...)
)

// String returns the name in the notation of MIT's programs: a separator within a part is escaped
// with a backslash.
func (p principal) String() string {
	var b strings.Builder
	for i, part := range p.name {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(escapesName.Replace(part))
	}
	b.WriteByte('@')
	b.WriteString(escapesRealm.Replace(p.realm))
	return b.String()
}

// maxName is the maximum length in bytes of a peer's name, realm included. The name is kept for
// each context. No real user or host has a longer one.
const maxName = 1024

// len returns the length of a name in bytes: its parts, their separators, and the realm.
func (p principal) len() int {
	n := len(p.realm)
	for _, part := range p.name {
		n += len(part) + 1
	}
	return n
}

// maxShown is how many bytes of a peer's text are shown.
const maxShown = 256

// printable returns the beginning of a peer's text with unprintable characters escaped. The result
// may be written to a terminal.
func printable(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		s = strconv.Quote(s)
		s = s[1 : len(s)-1]
	}
	return s
}

// parsePrincipal undoes String. A name without a realm has realm "".
func parsePrincipal(s string) (principal, error) {
	var p principal
	var part strings.Builder
	inRealm, escaped := false, false
	end := func() { p.name = append(p.name, part.String()); part.Reset() }
	for _, c := range s {
		switch {
		case escaped:
			escaped = false
			if at := strings.IndexRune("ntb0", c); at >= 0 {
				c = rune("\n\t\b\x00"[at])
			}
			part.WriteRune(c)
		case c == '\\':
			escaped = true
		case c == '/' && !inRealm:
			end()
		case c == '@' && !inRealm:
			end()
			inRealm = true
		case c == '@':
			return p, fmt.Errorf("principal %q has two realms", s)
		default:
			part.WriteRune(c)
		}
	}
	if inRealm {
		p.realm = part.String()
	} else {
		end()
	}
	if escaped || slices.Contains(p.name, "") || inRealm && p.realm == "" {
		return p, fmt.Errorf("%q is not a principal", s)
	}
	return p, nil
}

// parseService parses the name of a service, "nfs@server.example.org" (RFC 2743 section 4.1). It
// uses the host name as it is, in lower case, without asking a resolver.
func parseService(s string) (service, host string, err error) {
	service, host, ok := strings.Cut(s, "@")
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !ok || service == "" || host == "" || strings.ContainsAny(s, "/") {
		return "", "", errors.New("a service is named SERVICE@HOST")
	}
	return service, host, nil
}
