package exports

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// Export has the clients of a path.
type Export struct {
	Path    string // absolute and clean
	Line    int    // the first line with the path
	Clients []Client

	Memory   bool // a file system in memory
	CrossMnt bool // clients may enter what is mounted below
	// MountPoint is a directory: the path is only exported while something is mounted there. It may
	// be "".
	MountPoint string
}

// Client has the options of some hosts.
type Client struct {
	// Networks are the addresses of the hosts. If there are none, and no Host, it is all hosts.
	Networks []netip.Prefix
	Host     string // a name, to be looked up
	Options
}

// Options say what clients may do.
type Options struct {
	ReadOnly bool
	Squash   nfsserver.Squash
	AnonUID  uint32
	AnonGID  uint32
	Insecure bool // clients may use any port
	// Flavors are the flavours of sec=. PerFlavor overrides ReadOnly and Squash for some of them,
	// as in nfsserver.Rule.
	Flavors   []mount3.Flavor
	PerFlavor map[mount3.Flavor]nfsserver.Access

	current          []mount3.Flavor // of the last sec= of the list that is being parsed
	memory, crossmnt bool
	mountPoint       string
}

func defaults() Options {
	return Options{ReadOnly: true, AnonUID: nfsserver.Nobody, AnonGID: nfsserver.Nobody}
}

// Error is an error in a line of a file.
type Error struct {
	Line int
	Err  error
}

// Error returns the line number and the error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error in the line.
func (e *Error) Unwrap() error { return e.Err }

// maxLine is the longest line in bytes, including continuation lines.
const maxLine = 1 << 20

// Parse reads a file. The same path may be on several lines. The error is an *Error, or an error of
// r.
func Parse(r io.Reader) ([]Export, error) {
	var all []Export
	byPath := make(map[string]int)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		first, line := number, lines.Text()
		for strings.HasSuffix(line, `\`) && len(line) < maxLine && lines.Scan() {
			number++
			line = line[:len(line)-1] + " " + lines.Text()
		}
		words, err := split(line)
		if err == nil && len(words) > 0 {
			err = add(&all, byPath, words, first)
		}
		if err != nil {
			return nil, &Error{first, err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &Error{number + 1, err}
	}
	return all, nil
}

// add adds a line.
func add(all *[]Export, byPath map[string]int, words []string, line int) error {
	dir := words[0]
	switch {
	case !path.IsAbs(dir):
		return fmt.Errorf("%q is not an absolute path", dir)
	case len(dir) > mount3.MaxPath:
		return fmt.Errorf("the path is longer than %d bytes", mount3.MaxPath)
	}
	dir = path.Clean(dir)
	clients, err := parseClients(words[1:])
	if err != nil {
		return err
	}
	i, known := byPath[dir]
	if !known {
		i = len(*all)
		byPath[dir] = i
		*all = append(*all, Export{Path: dir, Line: line, Memory: clients[0].memory})
	}
	x := &(*all)[i]
	for _, c := range clients {
		if c.memory != x.Memory {
			return fmt.Errorf("%s is in memory for some clients and not for others", dir)
		}
		x.CrossMnt = x.CrossMnt || c.crossmnt
		if c.mountPoint == "." {
			c.mountPoint = dir
		}
		if c.mountPoint != "" {
			x.MountPoint = c.mountPoint
		}
		x.Clients = append(x.Clients, c)
	}
	return nil
}

// parseClients parses the words after the path.
func parseClients(words []string) (clients []Client, err error) {
	base := defaults()
	for _, w := range words {
		if opts, ok := strings.CutPrefix(w, "-"); ok {
			base = defaults()
			if err := base.parse(opts); err != nil {
				return nil, err
			}
			continue
		}
		who, opts, bracket := strings.Cut(w, "(")
		c := Client{Options: base}
		if bracket {
			inside, ok := strings.CutSuffix(opts, ")")
			if !ok || strings.ContainsAny(inside, "()") {
				return nil, fmt.Errorf("%q: write CLIENT(OPTION,...) without spaces", w)
			}
			if err := c.parse(inside); err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
		}
		if err := c.parseWho(who); err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	if len(clients) == 0 {
		clients = []Client{{Options: base}}
	}
	return clients, nil
}

// parseWho parses a client without its options.
func (c *Client) parseWho(who string) error {
	if who == "" || who == "*" {
		return nil
	}
	if a, err := netip.ParseAddr(who); err == nil && a.Zone() == "" {
		a = a.Unmap()
		c.Networks = []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}
		return nil
	}
	if strings.HasPrefix(who, "gss/") { // what Linux had before sec=
		return fmt.Errorf("%q: write the clients, and sec=krb5 among their options", who)
	}
	if net, mask, ok := strings.Cut(who, "/"); ok {
		p, err := parseNetwork(net, mask)
		if err != nil {
			return fmt.Errorf("%q is not a network: write 192.0.2.0/24, or 192.0.2.0/255.255.255.0", who)
		}
		c.Networks = []netip.Prefix{p}
		return nil
	}
	switch {
	case strings.HasPrefix(who, "@"):
		return fmt.Errorf("%q: there are no netgroups: write networks", who)
	case strings.ContainsAny(who, "*?["):
		return fmt.Errorf("%q: names with wildcards trust what clients say of their names: write networks",
			who)
	case strings.Trim(who, hostChars) != "" || len(who) > maxHost:
		return fmt.Errorf("%q is neither an address, nor a network, nor the name of a host", who)
	}
	c.Host = who
	return nil
}

// hostChars are the characters of host names, and maxHost is the greatest length.
const (
	hostChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	maxHost   = 253
)

// parseNetwork parses an address, and the length of a prefix or a mask.
func parseNetwork(net, mask string) (netip.Prefix, error) {
	a, err := netip.ParseAddr(net)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits, err := strconv.Atoi(mask)
	if m, merr := netip.ParseAddr(mask); merr == nil && m.Is4() && a.Is4() {
		bits, err = 0, nil
		b := m.As4()
		word := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		for ; word&(1<<31) != 0; word <<= 1 {
			bits++
		}
		if word != 0 {
			return netip.Prefix{}, fmt.Errorf("mask %s has gaps", mask)
		}
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	if a.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("write the IPv4 address")
	}
	return a.Prefix(bits)
}
