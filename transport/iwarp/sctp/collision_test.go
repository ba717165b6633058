package sctp

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// crossing is an attempt of a Dialer's socket to make an association, from port 7 to port 2, while
// the station makes one from port 2 to port 7.
type crossing struct {
	*station
	ours initiation // the INIT

	made chan struct{} // closed when the following fields are set
	l    *link
	err  error
	with initiation // of the peer
}

// newCrossing returns an attempt that has sent its INIT.
func newCrossing(t *testing.T) *crossing {
	t.Helper()
	cfg, err := Config{Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &crossing{made: make(chan struct{})}
	c.station = &station{t: t, wire: newWire(), from: linkPeer, port: 2, far: 7}
	s := newSocket(cfg, c.wire)
	go s.run()
	t.Cleanup(s.close)
	go func() {
		defer close(c.made)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.l, _, c.with, c.err = s.connect(ctx, linkPeer, 7, 2)
	}()
	c.ours = c.initiation(chunkInit, 0)
	return c
}

// says sends chunks, with the tag of the far side.
func (c *crossing) says(chunks string) {
	c.t.Helper()
	c.station.says(c.ours.tag, chunks)
}

// init sends an INIT with a tag. It returns a COOKIE ECHO with the cookie of the INIT ACK, and
// checks that this has the content of the far side's own INIT.
func (c *crossing) init(tag uint32) (echo string) {
	c.t.Helper()
	ack := c.station.init(tag)
	cookie := ack.cookie
	if ack.cookie = nil; fmt.Sprint(ack) != fmt.Sprint(c.ours) {
		c.t.Errorf("INIT ACK has %+v, the INIT had %+v", ack, c.ours)
	}
	return fmt.Sprintf("%x", appendChunk(nil, chunkCookieEcho, 0, cookie))
}

// acknowledge answers the INIT, which makes this side return the cookie "some".
func (c *crossing) acknowledge(tag uint32) {
	c.t.Helper()
	c.says("02 00 0024" + fmt.Sprintf(initValue, tag) + "0007 0008 736f6d65")
	c.hears(fmt.Sprintf("%08x: 0a000008736f6d65", tag))
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
	c.wire.heard() // SACK
	if err := p.Send(1, ppidSegment, []byte{1, 2, 3, 4}); err != nil {
		c.t.Error(err)
	}
	c.hears(fmt.Sprintf("%08x: 00070014%08x000100000000001001020304", tag, c.ours.tsn))
}

// TestCollision: an INIT or a COOKIE ECHO that comes while this side makes the same association
// leads to one association (RFC 9260 sections 5.2.1 and 5.2.4). The cases are named by the columns
// of table 12: local tag, peer's tag.
func TestCollision(t *testing.T) {
	const one, two = 0x11111111, 0x22222222
	const cookieAck, bundled = "0b 00 0004", "00 07 0014 %08x 0001 0000 00000010 01020304"
	const nobody = "22222222: 06000018000c00126e6f626f6479206c697374656e730000" // nobody listens
	for _, tt := range []struct {
		name string
		play func(c *crossing)
	}{
		{"M 0, action B, in COOKIE-WAIT", func(c *crossing) {
			c.says(c.init(one))
			c.hears("11111111: 0b000004")
			c.carries(one, 0)
		}},
		{"M 0, action B, of two INITs", func(c *crossing) {
			c.init(one)
			c.says(c.init(two))
			c.hears("22222222: 0b000004")
			c.carries(two, 0)
		}},
		{"M X, action B, in COOKIE-ECHOED", func(c *crossing) {
			c.acknowledge(one)
			c.says(c.init(two))
			c.hears("22222222: 0b000004")
			c.carries(two, 0)
		}},
		{"M X, action B, of an INIT in COOKIE-WAIT", func(c *crossing) {
			echo := c.init(two)
			c.acknowledge(one)
			c.says(echo)
			c.hears("22222222: 0b000004")
			c.carries(two, 0)
		}},
		{"M M, action D, in COOKIE-ECHOED", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(echo)
			c.hears("11111111: 0b000004")
			c.carries(one, 0)
		}},
		{"M M, action D, in front of DATA", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(echo + fmt.Sprintf(bundled, one))
			c.hears("11111111: 0b000004")
			c.carries(one, 1)
		}},
		{"M M, action D, in ESTABLISHED", func(c *crossing) {
			echo := c.init(one)
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.says(echo)
			c.hears("11111111: 0b000004")
			c.carries(one, 0)
		}},
		{"M X, action B, too late", func(c *crossing) {
			echo := c.init(two)
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.says(echo)
			c.hears()
			c.carries(one, 0)
		}},
		{"another cookie", func(c *crossing) {
			c.acknowledge(one)
			c.says("0a 00 0008 736f6d65")
			c.hears()
			c.says(cookieAck)
			c.carries(one, 0)
		}},
		{"an INIT in ESTABLISHED", func(c *crossing) {
			c.acknowledge(one)
			c.says(cookieAck)
			<-c.made
			c.saysInit(two)
			c.hears(nobody)
			c.carries(one, 0)
		}},
		{"an INIT from elsewhere", func(c *crossing) {
			other := c.another("192.0.2.7:9899")
			other.saysInit(two)
			other.hears(nobody)
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
		c.hears("22222222: 06000008000c0004")
		c.says(echo)
		c.hears()
	})
}
