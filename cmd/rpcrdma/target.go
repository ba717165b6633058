package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// target is what a URL names: rdma://host[:20049]/export/path[?mountport=N][&rpcbind[=N]], or tcp://,
// rdma+roce://, or rdma+sctp:// with [&udp=N]; and tcp:// with [&tls].
type target struct {
	scheme    string // "rdma", "rdma+roce", "rdma+sctp" or "tcp"
	host      string // a name or an address, of IPv6 without brackets, with its zone
	port      int    // 0: rpcbind is asked
	path      string // unescaped, of any bytes but NUL; begins with a slash, has no detours; a trailing slash is kept
	mountPort int    // of MOUNT over TCP; 0: to be found
	rpcbind   int    // the port at which rpcbind is asked for that of NFS; 0: port is known
	udp       int    // the UDP port that carries SCTP; 0: the default
	tls       bool   // over TCP
}

// Schemes of RDMA otherwise than by iWARP over TCP, which is rdma.
const (
	schemeRoCE = "rdma+roce"
	schemeSCTP = "rdma+sctp"
)

// schemeOf is that of each provider.
var schemeOf = map[string]string{"iwarp": "rdma", "roce": schemeRoCE, "sctp": schemeSCTP}

// overRDMA reports whether the server is reached over RDMA, and not over TCP alone.
func (t target) overRDMA() bool { return t.scheme != "tcp" }

// overIWARP reports whether that is iWARP.
func (t target) overIWARP() bool { return t.overRDMA() && t.scheme != schemeRoCE }

// overUDP reports whether the server is reached over RDMA in UDP.
func (t target) overUDP() bool { return t.scheme == schemeRoCE || t.scheme == schemeSCTP }

// defaultPorts are those of URLs that name none.
var defaultPorts = map[string]int{"rdma": 20049, schemeRoCE: 20049, schemeSCTP: 20049, "tcp": 20048}

// isURL reports whether an argument is a URL, be it a wrong one, and not the name of a local file.
func isURL(s string) bool {
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

// parseTarget parses a URL. The error is a usageError.
func parseTarget(s string) (target, error) {
	t, err := parseURL(s)
	if err != nil {
		return target{}, usageError{fmt.Errorf("%s: %w", printable(s), err)}
	}
	return t, nil
}

func parseURL(s string) (target, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return target{}, errors.New("not a URL: write rdma://HOST/EXPORT/PATH, or tcp://")
	}
	t := target{scheme: strings.ToLower(scheme)}
	if defaultPorts[t.scheme] == 0 {
		return target{}, fmt.Errorf("unknown scheme %s: write rdma://, rdma+roce://, rdma+sctp:// or tcp://", printable(scheme))
	}
	if strings.Contains(rest, "#") {
		return target{}, errors.New("a # in a name is written %23")
	}
	rest, query, _ := strings.Cut(rest, "?")
	if err := t.parseQuery(query); err != nil {
		return target{}, err
	}
	authority, escaped := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, escaped = rest[:i], rest[i:]
	}
	if err := t.parseAuthority(authority); err != nil {
		return target{}, err
	}
	switch {
	case t.rpcbind == 0 && t.port == 0:
		t.port = defaultPorts[t.scheme]
	case t.rpcbind != 0 && t.port != 0:
		return target{}, fmt.Errorf("the port is %d, and rpcbind is to be asked for it: write one of them", t.port)
	}
	if strings.Contains(strings.ToUpper(escaped), "%2F") {
		return target{}, errors.New("a name cannot hold a slash: no %2F in a URL")
	}
	p, err := unescape(escaped)
	if err != nil {
		return target{}, err
	}
	t.path, err = cleanPath(p)
	return t, err
}

// cleanPath takes the detours out of an absolute path: a URL has none (RFC 3986 section 5.2.4).
func cleanPath(p string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 {
		return "", errors.New("no file has a name with a zero byte (%00) in it")
	}
	clean := path.Clean(p)
	if clean != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")) {
		clean += "/"
	}
	return clean, nil
}

func (t *target) parseQuery(query string) error {
	if query == "" {
		return nil
	}
	for _, pair := range strings.Split(query, "&") {
		key, value, hasValue := strings.Cut(pair, "=")
		var port *int
		switch key {
		case "mountport":
			port = &t.mountPort
		case "rpcbind":
			port = &t.rpcbind
			if !hasValue {
				value = strconv.Itoa(rpcbind.Port)
			}
		case "udp":
			if port = &t.udp; t.scheme != schemeSCTP {
				return errors.New("udp=N is for rdma+sctp://, where UDP carries SCTP")
			}
		case "tls":
			switch {
			case t.scheme != "tcp":
				return errors.New("tls is for tcp://")
			case hasValue:
				return errors.New("tls has no value: files are named with --tls-ca, --tls-cert and --tls-key")
			}
			t.tls = true
			continue
		default:
			return fmt.Errorf("unknown option %s: there are mountport=N, rpcbind, and for tcp:// tls; a ? in a name is written %%3F", printable(key))
		}
		if *port != 0 {
			return fmt.Errorf("%s is given twice", key)
		}
		n, err := parsePort(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*port = n
	}
	return nil
}

func (t *target) parseAuthority(s string) error {
	if strings.Contains(s, "@") {
		return errors.New("there is no user in these URLs: --uid and --gid say who calls")
	}
	host, port := s, ""
	switch i := strings.LastIndexByte(s, ':'); {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && s[end+1] != ':' {
			return errors.New("an IPv6 address is written [2001:db8::1], with a port behind it [2001:db8::1]:20049")
		}
		host, port = s[1:end], strings.TrimPrefix(s[end+1:], ":")
		host = strings.Replace(host, "%25", "%", 1) // RFC 6874 section 2
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return fmt.Errorf("%s is no IPv6 address", printable(host))
		}
	case i >= 0:
		host, port = s[:i], s[i+1:]
		if strings.Contains(host, ":") {
			return errors.New("an IPv6 address is written in brackets: [2001:db8::1]")
		}
	}
	if host == "" {
		return errors.New("no host: write " + t.scheme + "://HOST")
	}
	if err := checkHost(host); err != nil {
		return err
	}
	t.host = host
	if port == "" {
		return nil
	}
	n, err := parsePort(port)
	t.port = n
	return err
}

// checkHost keeps out what no resolver takes, and what could not be told from the rest of a URL.
func checkHost(host string) error {
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`/?#@[]\"<>^|{}`+"`", c) >= 0 ||
			c == '%' && !strings.Contains(host, ":") {
			return fmt.Errorf("%s is no name of a host", printable(host))
		}
	}
	return nil
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s is no port: write a number from 1 to 65535", printable(s))
	}
	return int(n), nil
}

// addr is where to connect to, or, where that is not known, to ask for it.
func (t target) addr() string {
	return net.JoinHostPort(t.host, strconv.Itoa(cmp.Or(t.port, t.rpcbind)))
}

// at is the same with another path.
func (t target) at(path string) target {
	t.path = path
	return t
}

// base is the URL without path and options.
func (t target) base() string {
	var b strings.Builder
	b.WriteString(t.scheme + "://")
	if strings.Contains(t.host, ":") {
		b.WriteString("[" + strings.Replace(t.host, "%", "%25", 1) + "]")
	} else {
		b.WriteString(t.host)
	}
	if t.port != 0 && t.port != defaultPorts[t.scheme] {
		b.WriteString(":" + strconv.Itoa(t.port))
	}
	return b.String()
}

// server is the URL without path and mountport: what names the server.
func (t target) server() string {
	t.mountPort = 0
	return t.base() + t.query()
}

// String returns the URL.
func (t target) String() string { return t.base() + escape(t.path) + t.query() }

// query is the options of the URL, with the question mark.
func (t target) query() string {
	s, sep := "", "?"
	if t.mountPort != 0 {
		s = "?mountport=" + strconv.Itoa(t.mountPort)
		sep = "&"
	}
	switch t.rpcbind {
	case 0:
	case rpcbind.Port:
		s += sep + "rpcbind"
		sep = "&"
	default:
		s += sep + "rpcbind=" + strconv.Itoa(t.rpcbind)
		sep = "&"
	}
	if t.udp != 0 {
		s += sep + "udp=" + strconv.Itoa(t.udp)
		sep = "&"
	}
	if t.tls {
		s += sep + "tls"
	}
	return s
}
