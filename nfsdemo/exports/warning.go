package exports

import (
	"fmt"
	"net/netip"
	"strings"
)

// Warning is about a line that is correct, but hardly means what its author meant.
type Warning struct {
	Line int
	Text string
}

// String returns the line number and the text.
func (w Warning) String() string { return fmt.Sprintf("line %d: %s", w.Line, w.Text) }

// warnApart warns of options that stand alone behind a client.
func (x *Export) warnApart(c, before *Client) {
	if strings.HasPrefix(c.text, "(") {
		x.Warnings = append(x.Warnings, Warning{c.Line, fmt.Sprintf(
			"%q: because of the blank, %s is for everybody, not for %s: remove the blank, or write *%s",
			before.text+" "+c.text, c.text, before.text, c.text)})
	}
}

// warnCovered warns of clients that never count, since one before is for all their hosts.
func (x *Export) warnCovered() {
	clients := x.ranked()
	for i := range clients {
		c := &clients[i]
		for j := range clients[:i] {
			if o := &clients[j]; o.covers(c) {
				x.Warnings = append(x.Warnings, Warning{c.Line, fmt.Sprintf(
					"%q never counts: %q in line %d comes first, and is for the same hosts",
					c.text, o.text, o.Line)})
				break
			}
		}
	}
}

// covers reports whether all hosts of o are hosts of c. Names are not looked up.
func (c *Client) covers(o *Client) bool {
	switch {
	case c.Host != "" || o.Host != "":
		return strings.EqualFold(c.Host, o.Host)
	case len(c.Networks) == 0:
		return true
	case len(o.Networks) == 0:
		return false
	}
	all, some := c.Networks[0], o.Networks[0]
	return within(some, all) || within(some, loopback4) && all.Overlaps(loopback4)
}

// loopback4 is one host to the server: see peerhost.Host.In.
var loopback4 = netip.MustParsePrefix("127.0.0.0/8")

// within reports whether all addresses of p are in q.
func within(p, q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) }
