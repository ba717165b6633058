package reach

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// Over is the URL of a server on the same host.
func (t Target) Over(scheme string, port int) string {
	return Target{Scheme: scheme, Host: t.Host, Port: port}.Base()
}

// WithPort is the URL of the server with its default port, as an example.
func (t Target) WithPort() string {
	t.Port = 0
	return fmt.Sprintf("%s:%d", t.Base(), DefaultPorts[t.Scheme])
}

// Target is a parsed URL:
// rdma://host[:20049]/export/path[?mountport=N][&rpcbind[=N]][&sec=FLAVOUR]. Other schemes are
// rdma+roce, rdma+sctp (with [&udp=N]), tcp (with [&tls]), and nfs, which is tcp, with rpcbind if
// the URL has no port.
type Target struct {
	Scheme string // "rdma", "rdma+roce", "rdma+sctp" or "tcp"
	Host   string // a name or an address, of IPv6 without brackets, with its zone
	Port   int    // 0: rpcbind is asked
	// unescaped, of any bytes but NUL; clean and absolute; a trailing slash is kept
	Path      string
	MountPort int  // of MOUNT over TCP; 0: to be found
	Rpcbind   int  // the port at which rpcbind is asked for that of NFS; 0: port is known
	UDP       int  // the UDP port that carries SCTP; 0: the default
	TLS       bool // over TCP
	// Sec is the flavour of NFS calls: AUTH_SYS, or Kerberos. 0: the server chooses.
	Sec mount3.Flavor
}

// Schemes of RDMA by other providers than iWARP over TCP, whose scheme is rdma.
const (
	SchemeRoCE = "rdma+roce"
	SchemeSCTP = "rdma+sctp"
)

// schemeNFS is another name of tcp. Without a port it asks rpcbind; RFC 2224 uses port 2049 and the
// public file handle.
const schemeNFS = "nfs"

// SchemeOf is the scheme of each provider.
var SchemeOf = map[string]string{"iwarp": "rdma", "roce": SchemeRoCE, "sctp": SchemeSCTP}

// OverRDMA reports whether the server is reached over RDMA.
func (t Target) OverRDMA() bool { return t.Scheme != "tcp" }

// OverIWARP reports whether the server is reached by iWARP, over TCP or SCTP.
func (t Target) OverIWARP() bool { return t.OverRDMA() && t.Scheme != SchemeRoCE }

// OverUDP reports whether the server is reached over RDMA in UDP packets.
func (t Target) OverUDP() bool { return t.Scheme == SchemeRoCE || t.Scheme == SchemeSCTP }

// DefaultPorts are the ports of URLs without a port.
var DefaultPorts = map[string]int{"rdma": 20049, SchemeRoCE: 20049, SchemeSCTP: 20049, "tcp": 20048}

// IsURL reports whether an argument looks like a URL, valid or not, and not like a local file.
func IsURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return false
	}
	for _, c := range []byte(scheme) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '+' {
			return false
		}
	}
	return true
}

// ParseTarget parses a URL. The error is a UsageError.
func ParseTarget(s string) (Target, error) {
	t, err := parseURL(s)
	if err != nil {
		return Target{}, cli.UsageError{Err: fmt.Errorf("%s: %w", cli.Printable(s), err)}
	}
	return t, nil
}

func parseURL(s string) (Target, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return Target{}, errors.New("not a URL: write rdma://HOST/EXPORT/PATH, or tcp://")
	}
	t := Target{Scheme: strings.ToLower(scheme)}
	nfs := t.Scheme == schemeNFS
	if nfs {
		t.Scheme = "tcp"
	}
	if DefaultPorts[t.Scheme] == 0 {
		return Target{}, fmt.Errorf("unknown scheme %s: write rdma://, rdma+roce://, rdma+sctp://, tcp:// or nfs://",
			cli.Printable(scheme))
	}
	if strings.Contains(rest, "#") {
		return Target{}, errors.New("write %23 for a # in a name")
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && query == "" { // the ? may be meant as a pattern
		return Target{}, errors.New("no option follows the ?: write %3F for a ? in a name")
	}
	if err := t.parseQuery(query); err != nil {
		return Target{}, err
	}
	authority, escaped := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, escaped = rest[:i], rest[i:]
	}
	if authority == "" {
		return Target{}, fmt.Errorf("no host: write %s://HOST", strings.ToLower(scheme))
	}
	if err := t.parseAuthority(authority); err != nil {
		return Target{}, err
	}
	switch {
	case t.Rpcbind == 0 && t.Port == 0 && nfs:
		t.Rpcbind = rpcbind.Port
	case t.Rpcbind == 0 && t.Port == 0:
		t.Port = DefaultPorts[t.Scheme]
	case t.Rpcbind != 0 && t.Port != 0:
		return Target{}, fmt.Errorf("the URL names port %d and asks rpcbind for the port: write only one of them",
			t.Port)
	}
	if strings.Contains(strings.ToUpper(escaped), "%2F") {
		return Target{}, errors.New("a name cannot contain a slash: leave out %2F")
	}
	p, err := Unescape(escaped)
	if err != nil {
		return Target{}, err
	}
	t.Path, err = cleanPath(p)
	return t, err
}

// cleanPath resolves . and .. in an absolute path (RFC 3986 section 5.2.4).
func cleanPath(p string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 {
		return "", errors.New("a name cannot contain a zero byte (%00)")
	}
	clean := path.Clean(p)
	if clean != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")) {
		clean += "/"
	}
	return clean, nil
}

func (t *Target) parseQuery(query string) error {
	if query == "" {
		return nil
	}
	for _, pair := range strings.Split(query, "&") {
		key, value, hasValue := strings.Cut(pair, "=")
		var port *int
		switch key {
		case "mountport":
			port = &t.MountPort
		case "rpcbind":
			port = &t.Rpcbind
			if !hasValue {
				value = strconv.Itoa(rpcbind.Port)
			}
		case "udp":
			if port = &t.UDP; t.Scheme != SchemeSCTP {
				return errors.New("udp=N is for rdma+sctp://, where UDP carries SCTP")
			}
		case "tls":
			switch {
			case t.Scheme != "tcp":
				return errors.New("tls is for tcp://")
			case hasValue:
				return errors.New("tls takes no value: name the files with --tls-ca, --tls-cert and --tls-key")
			}
			t.TLS = true
			continue
		case "sec":
			if t.Sec != 0 {
				return errors.New("sec is given twice")
			}
			f, err := parseSec(value)
			if err != nil {
				return err
			}
			t.Sec = f
			continue
		default:
			return fmt.Errorf("unknown option %s: the options are mountport=N, rpcbind, sec=FLAVOUR, and for "+
				"tcp:// tls; write %%3F for a ? in a name", cli.Printable(key))
		}
		if *port != 0 {
			return fmt.Errorf("%s is given twice", key)
		}
		n, err := ParsePort(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*port = n
	}
	return nil
}

// Secs are the flavours that a URL may name, as Linux's mount has them.
var Secs = []mount3.Flavor{
	mount3.FlavorSys, mount3.FlavorKrb5, mount3.FlavorKrb5i, mount3.FlavorKrb5p,
}

// parseSec parses the name of a flavour.
func parseSec(name string) (mount3.Flavor, error) {
	if f, err := mount3.ParseFlavor(name); err == nil && slices.Contains(Secs, f) {
		return f, nil
	}
	return 0, fmt.Errorf("sec: unknown flavour %s: write sys, krb5, krb5i (with checksums) or krb5p (encrypted)",
		cli.Printable(name))
}

func (t *Target) parseAuthority(s string) error {
	if strings.Contains(s, "@") {
		return errors.New("a URL cannot name a user: use --uid and --gid")
	}
	host, port := s, ""
	switch i := strings.LastIndexByte(s, ':'); {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && s[end+1] != ':' {
			return errors.New("write an IPv6 address as [2001:db8::1], with a port as [2001:db8::1]:20049")
		}
		host, port = s[1:end], strings.TrimPrefix(s[end+1:], ":")
		host = strings.Replace(host, "%25", "%", 1) // RFC 6874 section 2
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return fmt.Errorf("%s is not an IPv6 address", cli.Printable(host))
		}
	case i >= 0:
		host, port = s[:i], s[i+1:]
		if strings.Contains(host, ":") {
			return errors.New("write an IPv6 address in brackets: [2001:db8::1]")
		}
	}
	if host == "" {
		return errors.New("no host: write " + t.Scheme + "://HOST")
	}
	if err := CheckHost(host); err != nil {
		return err
	}
	t.Host = host
	if port == "" {
		return nil
	}
	n, err := ParsePort(port)
	t.Port = n
	return err
}

// CheckHost refuses characters that no host name has, or that are special in a URL.
func CheckHost(host string) error {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`/?#@[]\"<>^|{}`+"`", c) >= 0 ||
			c == '%' && !strings.Contains(host, ":") {
			return fmt.Errorf("%s is not the name of a host", cli.Printable(host))
		}
	}
	return nil
}

// ParsePort parses the number of a port, which is not 0.
func ParsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s is not a port: write a number from 1 to 65535", cli.Printable(s))
	}
	return int(n), nil
}

// Addr is the host and port to connect to or, if the port is not known, those of rpcbind.
func (t Target) Addr() string {
	return net.JoinHostPort(t.Host, strconv.Itoa(cmp.Or(t.Port, t.Rpcbind)))
}

// At returns the target with another path.
func (t Target) At(path string) Target {
	t.Path = path
	return t
}

// Base returns the URL without path and options.
func (t Target) Base() string {
	var b strings.Builder
	b.WriteString(t.Scheme + "://")
	if strings.Contains(t.Host, ":") {
		b.WriteString("[" + strings.Replace(t.Host, "%", "%25", 1) + "]")
	} else {
		b.WriteString(t.Host)
	}
	if t.Port != 0 && t.Port != DefaultPorts[t.Scheme] {
		b.WriteString(":" + strconv.Itoa(t.Port))
	}
	return b.String()
}

// Server returns the URL without path and mountport.
func (t Target) Server() string {
	t.MountPort = 0
	return t.Base() + t.query()
}

// String returns the URL.
func (t Target) String() string { return t.Base() + Escape(t.Path) + t.query() }

// query is the options of the URL, with the question mark.
func (t Target) query() string {
	s, sep := "", "?"
	if t.MountPort != 0 {
		s = "?mountport=" + strconv.Itoa(t.MountPort)
		sep = "&"
	}
	switch t.Rpcbind {
	case 0:
	case rpcbind.Port:
		s += sep + "rpcbind"
		sep = "&"
	default:
		s += sep + "rpcbind=" + strconv.Itoa(t.Rpcbind)
		sep = "&"
	}
	if t.UDP != 0 {
		s += sep + "udp=" + strconv.Itoa(t.UDP)
		sep = "&"
	}
	if t.TLS {
		s += sep + "tls"
		sep = "&"
	}
	if t.Sec != 0 {
		s += sep + "sec=" + t.Sec.String()
	}
	return s
}
