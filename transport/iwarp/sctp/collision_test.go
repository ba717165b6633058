package sctp

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
)

// crossing is an attempt of a Dialer's socket to make an association, from port 7 to port 2, while
// the peer makes one from port 2 to port 7. A test writes the peer's packets by hand, in a bubble.
type crossing struct {
	t    *testing.T
	s    *socket
	sent *recorder
	seen int        // packets of sent that hears has returned
	ours initiation // the INIT

	made chan struct{} // closed when the following fields are set
	l    *link
	err  error
	with initiation // of the peer
}

// newCrossing returns an attempt that has sent its INIT.
func newCrossing(t *testing.T) *crossing {
	t.Helper()
	cfg, err := Config{MTU: 1000, Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &crossing{t: t, sent: new(recorder), made: make(chan struct{})}
	c.s = newSocket(cfg, c.sent)
	go func() {
		defer close(c.made)
		c.l, _, c.with, c.err = c.s.connect(t.Context(), linkPeer, 7, 2)
	}()
	p := unhex(t, c.hears())
	init, _ := nextChunk(p[headerLen:])
	if c.ours, err = parseInitiation(init.value()); err != nil || !init.is(chunkInit) {
		t.Fatalf("sent %x, want an INIT", p)
	}
	return c
}

// hears waits until all goroutines are idle. It returns the one packet that has been sent since
// the last call, or nothing.
func (c *crossing) hears() string {
	c.t.Helper()
	synctest.Wait()
	c.sent.mu.Lock()
	defer c.sent.mu.Unlock()
	sent := c.sent.sent[c.seen:]
	c.seen += len(sent)
	switch len(sent) {
	case 0:
		return ""
	case 1:
		return sent[0]
	}
	c.t.Fatalf("sent %q", sent)
	return ""
}

// wants compares what hears returns with a packet of one chunk, or with nothing.
func (c *crossing) wants(tag uint32, chunk string) {
	c.t.Helper()
	want := ""
	if chunk != "" {
		h := header{src: 7, dst: 2, tag: tag}
		want = fmt.Sprintf("%x", seal(append(h.append(nil), unhex(c.t, chunk)...)))
	}
	if got := c.hears(); got != want {
		c.t.Fatalf("sent %q, want %q", got, want)
	}
}

// says sends chunks, with the tag of this side.
func (c *crossing) says(chunks string) {
	p := header{src: 2, dst: 7, tag: c.ours.tag}.append(nil)
	c.s.packet(seal(append(p, unhex(c.t, chunks)...)), linkPeer)
}

// crossingInit is the value of an INIT with a tag and a TSN.
const crossingInit = "%08x 00100000 0100 0100 %08x c006 0008 00000001"

// saysInit sends an INIT with a tag.
func (c *crossing) saysInit(tag uint32, from path) {
	p := header{src: 2, dst: 7}.append(nil)
	p = append(p, unhex(c.t, "01 00 001c"+fmt.Sprintf(crossingInit, tag, tag))...)
	c.s.packet(seal(p), from)
}

// init sends an INIT with a tag. It returns a COOKIE ECHO with the cookie of the INIT ACK, and
// checks that this has the content of this side's own INIT.
func (c *crossing) init(tag uint32) (echo string) {
	c.t.Helper()
	c.saysInit(tag, linkPeer)
	answer := unhex(c.t, c.hears())
	ack, _ := nextChunk(answer[headerLen:])
	i, err := parseInitiation(ack.value())
	if err != nil || !ack.is(chunkInitAck) || binary.BigEndian.Uint32(answer[4:]) != tag {
		c.t.Fatalf("an INIT is answered by %x", answer)
	}
	cookie := i.cookie
	if i.cookie = nil; fmt.Sprint(i) != fmt.Sprint(c.ours) {
		c.t.Errorf("INIT ACK has %+v, the INIT had %+v", i, c.ours)
	}
	return fmt.Sprintf("%x", appendChunk(nil, chunkCookieEcho, 0, cookie))
}

// acknowledge answers the INIT, which makes this side return the cookie "some".
func (c *crossing) acknowledge(tag uint32) {
	c.t.Helper()
	c.says("02 00 0024" + fmt.Sprintf(crossingInit, tag, tag) + "0007 0008 736f6d65")
	c.wants(tag, "0a 00 0008 736f6d65")
}

// carries checks that there is an association with a tag of the peer, which has sent data already.
func (c *crossing) carries(tag, data uint32) {
	c.t.Helper()
	<-c.made
	if c.err != nil {
		c.t.Fatal(c.err)
	}
	if c.l.ports != (header{src: 7, dst: 2, tag: tag}) || c.with.tag != tag {
		c.t.Fatalf("the peer has %+v and %+v, want the tag %x", c.l.ports, c.with, tag)
	}
	p, err := associate(c.l, c.ours, c.with)
	if err != nil {
		c.t.Fatal(err)
	}
	defer p.Abort("")
	c.says(fmt.Sprintf("00 0f 0014 %08x 0001 0000 00000010 01020304", tag+data))
	m, err := p.Receive(make([]byte, messageSize))
	if err != nil || m.First != tag {
		c.t.Errorf("received %+v and error %v", m, err)
	}
	c.hears() // SACK
	if err := p.Send(1, ppidSegment, []byte{1, 2, 3, 4}); err != nil {
		c.t.Error(err)
	}
	c.wants(tag, fmt.Sprintf("00 07 0014 %08x 0001 0000 00000010 01020304", c.ours.tsn))
}

// TestCollision: an INIT or a COOKIE ECHO that comes while this side makes the same association
// leads to one association (RFC 9260 sections 5.2.1 and 5.2.4). The cases are named by the columns
// of table 12: local tag, peer's tag.
func TestCollision(t *testing.T) {
	const one, two = 0x11111111, 0x22222222
	const cookieAck, bundled = "0b 00 0004", "00 07 0014 %08x 0001 0000 00000010 01020304"
	const nobody = "06 00 0018 000c 0012 6e6f626f6479206c697374656e73 0000" // nobody listens
	for _, tt := range []struct {
		name string
		play func(c *crossing)
	}{
		{"M 0, action B, in COOKIE-WAIT", func(c *crossing) {
			c.says(c.init(one))
			c.wants(one, cookieAck)
			c.carries(one, 0)
		}},
		{"M 0, action B, of two INITs", func(c *crossing) {
			c.init(one)
			c.says(c.init(two))
			c.wants(two, cookieAck)
			c.carries(two, 0)
		}},
		{"M X, action B, in COOKIE-ECHOED", func(c *crossing) {
			c.acknowledge(one)
			c.says(c.init(two))
			c.wants(two, cookieAck)
			c.carries(two, 0)
		}},
		{"M X, action B, of an INIT in COOKIE-WAIT", func(c *crossing) {
			echo := c.init(two)
			c.acknowledge(one)
			c.says(echo)
			c.wants(two, cookieAck)
			c.carries(two, 0)
		}},
		{"M M, action D, in COOKIE-ECHOED", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(echo)
			c.wants(one, cookieAck)
			c.carries(one, 0)
		}},
		{"M M, action D, in front of DATA", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(echo + fmt.Sprintf(bundled, one))
			c.wants(one, cookieAck)
			c.carries(one, 1)
		}},
		{"M M, action D, in ESTABLISHED", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.says(echo)
			c.wants(one, cookieAck)
			c.carries(one, 0)
		}},
		{"M X, action B, too late", func(c *crossing) {
			echo := c.init(two)
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.says(echo)
			c.wants(0, "")
			c.carries(one, 0)
		}},
		{"another cookie", func(c *crossing) {
			c.acknowledge(one)
			c.says("0a 00 0008 736f6d65")
			c.wants(0, "")
			c.says(cookieAck)
			c.carries(one, 0)
		}},
		{"an INIT in ESTABLISHED", func(c *crossing) {
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.saysInit(two, linkPeer)
			c.wants(two, nobody)
			c.carries(one, 0)
		}},
		{"an INIT from elsewhere", func(c *crossing) {
			c.saysInit(two, path{peer: netip.MustParseAddrPort("192.0.2.7:9899")})
			c.wants(two, nobody)
			c.acknowledge(one)
			c.says(cookieAck)
			c.carries(one, 0)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { tt.play(newCrossing(t)) })
		})
	}
}

// TestCollisionOver: the cookie of an attempt that has failed makes no association.
func TestCollisionOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrossing(t)
		echo := c.init(0x11111111)
		c.acknowledge(0x22222222)
		c.says("06 00 0004")
		<-c.made
		if c.err == nil {
			t.Error("an aborted attempt made an association")
		}
		c.hears() // ABORT
		c.says(echo)
		c.wants(0, "")
	})
}
