package exports

import (
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

	Warnings []Warning

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
	Line     int
	Options

	text    string // as the file has it, without quotes
	network bool   // written with a prefix or a mask, perhaps for one address
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

	base             access
	each             map[mount3.Flavor]access // overrides base
	current          []mount3.Flavor          // of the last sec= of the list that is being parsed
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

// Parse reads a file. The same path may be on several lines. The error is an *Error.
func Parse(in io.Reader) (_ []Export, err error) {
	r := newReader(in)
	f := file{byPath: make(map[string]int)}
	for r.c != end && err == nil {
		var words []word
		if words, err = r.entry(); err == nil && len(words) > 0 {
			err = f.add(words)
		}
	}
	if r.err != nil { // it cut the last word short
		err = &Error{r.line, r.err}
	}
	if err != nil {
		return nil, err
	}
	for i := range f.all {
		f.all[i].warnCovered()
	}
	return f.all, nil
}

// file has the exports of a file.
type file struct {
	all    []Export
	byPath map[string]int // the places in all
}

// add adds the words of an entry. The error is an *Error.
func (f *file) add(words []word) error {
	dir, line := words[0].text, words[0].line
	switch {
	case !path.IsAbs(dir):
		return &Error{line, fmt.Errorf("%q is not an absolute path", dir)}
	case len(dir) > mount3.MaxPath:
		return &Error{line, fmt.Errorf("the path is longer than %d bytes", mount3.MaxPath)}
	}
	dir = path.Clean(dir)
	clients, err := parseClients(words[1:], line)
	if err != nil {
		return err
	}
	at, known := f.byPath[dir]
	if !known {
		at = len(f.all)
		f.byPath[dir] = at
		f.all = append(f.all, Export{Path: dir, Line: line,
			Memory: clients[0].memory, CrossMnt: clients[0].crossmnt})
	}
	x := &f.all[at]
	for i := range clients {
		c := &clients[i]
		if c.memory != x.Memory {
			return &Error{c.Line,
				fmt.Errorf("%s is in memory for some clients and not for others", dir)}
		}
		if c.crossmnt != x.CrossMnt {
			return &Error{c.Line,
				fmt.Errorf("%s has crossmnt for some clients and not for others", dir)}
		}
		if c.mountPoint == "." {
			c.mountPoint = dir
		}
		if c.mountPoint != "" {
			x.MountPoint = c.mountPoint
		}
		if i > 0 {
			x.warnApart(c, &clients[i-1])
		}
		x.Clients = append(x.Clients, *c)
	}
	return nil
}

// parseClients parses the words after the path on a line. The error is an *Error.
func parseClients(words []word, line int) (clients []Client, err error) {
	base := defaults()
	for i, w := range words {
		opts, dash := strings.CutPrefix(w.text, "-")
		switch {
		case dash && i > 0 && strings.HasPrefix(words[i-1].text, "-"):
			// exportfs takes the second list for the name of a host.
			err = fmt.Errorf("%q: write the options in one list", w.text)
		case dash && i > 0 && i == len(words)-1: // exportfs exports to everybody
			err = fmt.Errorf("%q: no client follows these options", w.text)
		case dash:
			err = base.parse(opts)
		default:
			c := Client{Options: base, Line: w.line, text: w.text}
			err = c.parseSpec()
			clients = append(clients, c)
		}
		if err != nil {
			return nil, &Error{w.line, err}
		}
	}
	if len(clients) == 0 {
		clients = []Client{{Options: base, Line: line, text: "*"}}
	}
	return clients, nil
}

// parseSpec parses the text of a client.
func (c *Client) parseSpec() error {
	who, opts, bracket := strings.Cut(c.text, "(")
	if bracket {
		inside, ok := strings.CutSuffix(opts, ")")
		if !ok || strings.ContainsAny(inside, "()") {
			return fmt.Errorf("%q: write CLIENT(OPTION,...) without spaces", c.text)
		}
		if err := c.parse(inside); err != nil {
			return fmt.Errorf("%s: %w", c.text, err)
		}
	}
	return c.parseWho(who)
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
		c.Networks, c.network = []netip.Prefix{p}, true
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
