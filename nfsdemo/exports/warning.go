package exports

import (
	"fmt"
	"net"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Warning says that a line does what exports(5) says, which is hardly what its author meant.
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
			"%q: because of the blank, %s is for everybody, not for %s: leave it out, or write *%s",
			before.text+" "+c.text, c.text, before.text, c.text)})
	}
}

// warnCovered warns of a client that never counts, since one before it is for all its hosts.
func (x *Export) warnCovered(c *Client) {
	for i := range x.Clients {
		if o := &x.Clients[i]; o.covers(c) {
			x.Warnings = append(x.Warnings, Warning{c.Line, fmt.Sprintf(
				"%q never counts: %q in line %d comes first, and is for the same hosts",
				c.text, o.text, o.Line)})
			return
		}
	}
}

// covers reports whether a client before o leaves no hosts to it. Names are not looked up.
func (c *Client) covers(o *Client) bool {
	switch {
	case c.class() != o.class():
		return false
	case c.Host != "" || o.Host != "":
		return strings.EqualFold(c.Host, o.Host)
	case len(c.Networks) == 0: // then o is everybody, too
		return true
	case c.class() == 0:
		return peerhost.Of(&net.IPAddr{IP: o.Networks[0].Addr().AsSlice()}).In(c.Networks)
	}
	return c.Networks[0].Bits() <= o.Networks[0].Bits() && c.Networks[0].Contains(o.Networks[0].Addr())
}
