package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

// mostMatches is how many files a pattern may match: those of a hostile server may have no end.
const mostMatches = 1 << 20

var (
	errNoMatch     = errors.New("no file matches")
	errManyMatches = fmt.Errorf("more than %d files match", mostMatches)
	errNamedClass  = errors.New("[:alpha:] and the like are not supported: write [a-zA-Z]")
	errOpenClass   = errors.New("a [ without a ]: write %5B for a [ in a name")
)

// Expand returns the URLs of the files that match a URL. A URL without * and [ in its path, or with
// a file of exactly that name, matches itself. Any other is a pattern as in shells: * matches any
// characters, [...] one of those and [!...] any other one, but none of them a . at the beginning;
// %2A and %5B are literal. It is an error if no file matches.
func (r *Session) Expand(ctx context.Context, url string) ([]string, error) {
	rest, query, hasQuery := strings.Cut(url, "?")
	at := strings.Index(rest, "://") + len("://")
	i := strings.IndexByte(rest[at:], '/')
	if i < 0 || !strings.ContainsAny(rest[at+i:], "*[") || r.isThere(ctx, url) {
		return []string{url}, nil
	}
	if hasQuery {
		query = "?" + query
	}
	parts := strings.Split(rest[at+i+1:], "/")
	first := slices.IndexFunc(parts, hasMeta)
	found := []string{rest[:at+i]}
	for _, part := range parts[:first] {
		found[0] += "/" + part
	}
	if _, _, err := r.Open(ctx, found[0]+query); err != nil {
		if refused := new(nfsmount.Error); errors.As(err, &refused) && !refused.Listed {
			err = fmt.Errorf("%w; a pattern matches files in an export, not exports", err)
		}
		return nil, err
	}
	for n, part := range parts[first:] {
		last := first+n == len(parts)-1
		var next []string
		for _, url := range found {
			more, err := r.matches(ctx, url, query, part, last)
			if err != nil {
				return nil, err
			}
			if next = append(next, more...); len(next) > mostMatches {
				return nil, errManyMatches
			}
		}
		found = next
	}
	if len(found) == 0 {
		return nil, errNoMatch
	}
	for i := range found {
		found[i] += query
	}
	return found, nil
}

func hasMeta(part string) bool { return strings.ContainsAny(part, "*[") }

// isThere reports whether a file of exactly that name exists. It is true if that is unknown.
func (r *Session) isThere(ctx context.Context, url string) bool {
	m, name, err := r.Open(ctx, url)
	if err == nil {
		_, err = m.FS.Lstat(ctx, name)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// matches returns the URLs of files that match one part of a pattern, in the directory at url. A
// file that is not a directory contains nothing.
func (r *Session) matches(ctx context.Context, url, query, part string, last bool) (all []string, err error) {
	if !hasMeta(part) {
		if !last {
			return []string{url + "/" + part}, nil
		}
		m, name, err := r.Open(ctx, url+"/"+part+query)
		if err != nil {
			return nil, err
		}
		i, err := m.FS.Stat(ctx, name)
		if err != nil || part == "" && !i.IsDir() {
			return nil, ctx.Err()
		}
		return []string{url + "/" + part}, nil
	}
	pattern, err := patternOf(part)
	if err != nil {
		return nil, err
	}
	m, name, err := r.Open(ctx, url+query)
	if err != nil {
		return nil, err
	}
	for e, err := range Bounded(m.FS.Entries(ctx, name), MostListed) {
		if err != nil && e == nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, nfs3.ErrNotDir) {
				return nil, nil
			}
			return nil, err
		}
		if ok, _ := path.Match(pattern, e.Name()); !ok || e.Name()[0] == '.' && pattern[0] != '.' {
			continue
		}
		if all = append(all, url+"/"+reach.Escape(e.Name())); len(all) > mostMatches {
			return nil, errManyMatches
		}
	}
	slices.Sort(all)
	return all, nil
}

// patternOf converts one part of a URL to a pattern of path.Match. Escaped characters and
// backslashes become literal.
func patternOf(part string) (string, error) {
	if strings.Contains(part, "[[:") {
		return "", errNamedClass
	}
	var b strings.Builder
	for class := false; len(part) > 0; {
		n, literal := 1, part[0] == '\\'
		if part[0] == '%' {
			n, literal = min(3, len(part)), true
		}
		c, err := reach.Unescape(part[:n])
		if err != nil {
			return "", err
		}
		if literal && strings.ContainsAny(c, `*?[]\-^`) {
			b.WriteByte('\\')
		}
		b.WriteString(c)
		part = part[n:]
		switch {
		case literal:
		case c == "[" && !class:
			class = true
			if strings.HasPrefix(part, "!") { // path.Match has ^ for it
				b.WriteByte('^')
				part = part[1:]
			}
		case c == "]":
			class = false
		}
	}
	if _, err := path.Match(b.String(), ""); err != nil {
		return "", errOpenClass
	}
	return b.String(), nil
}
