package krb5

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	defaultConf = "/etc/krb5.conf"
	maxConf     = 1 << 20 // bytes of one file
	maxIncludes = 256     // files
)

// profile is the content of krb5.conf: values by section and name, as in MIT's library. If a value
// occurs several times, the first counts, except in lists such as kdc.
type profile struct {
	libdefaults map[string][]string
	realms      map[string]map[string][]string
	domainRealm map[string][]string
	files       int
}

// confPaths returns the files to read. KRB5_CONFIG may name several.
func confPaths(path string) []string {
	if path != "" {
		return []string{path}
	}
	if env := os.Getenv("KRB5_CONFIG"); env != "" {
		return filepath.SplitList(env)
	}
	return []string{defaultConf}
}

// readProfile reads krb5.conf. A missing file counts as empty if another exists.
func readProfile(paths []string) (*profile, error) {
	p := &profile{
		libdefaults: make(map[string][]string), realms: make(map[string]map[string][]string),
		domainRealm: make(map[string][]string),
	}
	var missing []error
	for _, path := range paths {
		switch err := p.read(path); {
		case errors.Is(err, os.ErrNotExist):
			missing = append(missing, err)
		case err != nil:
			return nil, err
		}
	}
	if len(missing) == len(paths) {
		return nil, fmt.Errorf("there is no krb5.conf: %w", errors.Join(missing...))
	}
	return p, nil
}

func (p *profile) read(path string) error {
	if p.files++; p.files > maxIncludes {
		return fmt.Errorf("%s: more than %d files are included", path, maxIncludes)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxConf {
		return fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxConf)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := p.parse(b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// parse reads lines of krb5.conf.
func (p *profile) parse(b []byte) error {
	var section string
	var groups []string // names of the open braces
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxConf)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, value, assigns := strings.Cut(line, "=")
		name, value = strings.Trim(name, " \t*"), strings.TrimSpace(value)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasPrefix(line, "include ") || strings.HasPrefix(line, "includedir "):
			if err := p.include(line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		case strings.HasPrefix(line, "module "): // for other programs
		case line[0] == '[':
			end := strings.IndexByte(line, ']')
			if end < 0 || len(groups) > 0 {
				return fmt.Errorf("line %d: %q is unexpected", n, line)
			}
			section = strings.TrimSpace(line[1:end])
		case line[0] == '}':
			if len(groups) == 0 {
				return fmt.Errorf("line %d: } without {", n)
			}
			groups = groups[:len(groups)-1]
		case !assigns:
			return fmt.Errorf("line %d: %q is unexpected", n, line)
		case value == "{":
			groups = append(groups, name)
		default:
			p.set(section, groups, name, unquote(value))
		}
	}
	if len(groups) > 0 {
		return errors.New("a } is missing")
	}
	return lines.Err()
}

// set stores a value if its place is relevant.
func (p *profile) set(section string, groups []string, name, value string) {
	switch {
	case section == "libdefaults" && len(groups) == 0:
		p.libdefaults[name] = append(p.libdefaults[name], value)
	case section == "domain_realm" && len(groups) == 0:
		name = strings.ToLower(name)
		p.domainRealm[name] = append(p.domainRealm[name], value)
	case section == "realms" && len(groups) == 1:
		realm := p.realms[groups[0]]
		if realm == nil {
			realm = make(map[string][]string)
			p.realms[groups[0]] = realm
		}
		realm[name] = append(realm[name], value)
	}
}

// unquote removes quotation marks and escapes.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t").Replace(s[1 : len(s)-1])
	}
	return s
}

// included matches the names of the files in a directory that are read (MIT's krb5.conf(5)).
var included = regexp.MustCompile(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`)

func (p *profile) include(line string) error {
	kind, path, _ := strings.Cut(line, " ")
	path = strings.TrimSpace(path)
	if kind == "include" {
		return p.read(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !included.MatchString(e.Name()) {
			continue
		}
		if err := p.read(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lib returns a value of libdefaults, or "".
func (p *profile) lib(name string) string {
	if v := p.libdefaults[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// flag returns a boolean value of libdefaults (MIT's krb5.conf(5)).
func (p *profile) flag(name string, otherwise bool) bool {
	v := strings.ToLower(p.lib(name))
	switch {
	case v == "":
		return otherwise
	case slices.Contains([]string{"y", "yes", "true", "t", "1", "on"}, v):
		return true
	case slices.Contains([]string{"n", "no", "false", "nil", "0", "off"}, v):
		return false
	}
	return otherwise
}

// realmOf returns the realm of a host according to domain_realm: that of the host itself, or of the
// closest domain that contains it. "" means that the KDC must be asked.
func (p *profile) realmOf(host string) string {
	if v := p.domainRealm[host]; len(v) > 0 {
		return v[0]
	}
	for domain := host; ; {
		at := strings.IndexByte(domain, '.')
		if at < 0 {
			return ""
		}
		domain = domain[at+1:]
		if v := p.domainRealm["."+domain]; len(v) > 0 {
			return v[0]
		}
		if v := p.domainRealm[domain]; len(v) > 0 {
			return v[0]
		}
	}
}
