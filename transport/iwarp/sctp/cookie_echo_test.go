package sctp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// TestCookieEcho: a COOKIE ECHO of a peer with an association leaves that association alone, unless
// its cookie was made for its restart (RFC 9260 section 5.2.4). The cases are named by the columns
// of table 12: local tag, peer's tag, local tie-tag, peer's tie-tag. TestRestart has action A, and
// TestCollision action B.
func TestCookieEcho(t *testing.T) {
	const one, two, three = 0x11111111, 0x22222222, 0x33333333
	// forged returns a cookie such as the Listener could have made.
	forged := func(p *station, local, peers uint32, change func(*tieTags)) initiation {
		p.l.socket.mu.Lock()
		l := p.l.socket.tags[p.theirs.tag]
		p.l.socket.mu.Unlock()
		c := cookie{from: p.from.peer, src: p.port, dst: 2, ties: l.ties, ours: p.theirs}
		c.ours.tag = local
		c.theirs = initiation{tag: peers, window: 1 << 20, out: 1, in: 1, tsn: 1, indication: DDP}
		change(&c.ties)
		ack := c.ours
		ack.cookie = p.l.socket.bakery.bake(&c)
		return ack
	}
	same := func(_ *station, first initiation) initiation { return first }
	acknowledged := []string{"11111111: 0b000004"}
	for _, tt := range []struct {
		name string
		// play returns the cookie that comes late, when the first one has made an association.
		play   func(p *station, first initiation) initiation
		answer []string
	}{
		{"M M 0 0, action D", same, acknowledged},
		{"M M 0 0, action D, from another UDP port", func(p *station, first initiation) initiation {
			p.from.peer = netip.AddrPortFrom(p.from.peer.Addr(), 1)
			return first
		}, acknowledged},
		{"M M 0 0, action D, stale", func(_ *station, first initiation) initiation {
			time.Sleep(cookieLife + time.Second)
			return first
		}, acknowledged},
		{"M M X X, action D, of a restart", func(p *station, _ initiation) initiation {
			return p.up(two)
		}, []string{"22222222: 0b000004"}},
		{"X M 0 0, action C", func(p *station, _ initiation) initiation {
			p.aborts()
			late := p.init(one)
			p.up(one)
			return late
		}, nil},
		{"X X 0 0, of a former association that was aborted",
			func(p *station, first initiation) initiation {
				p.aborts()
				p.up(two)
				return first
			}, nil},
		{"X X 0 0, of a former association that was shut down",
			func(p *station, first initiation) initiation {
				p.says(first.tag, fmt.Sprintf("07 00 0008 %08x", p.theirs.tsn-1))
				p.hears("11111111: 08000004")
				p.says(first.tag, "0e 00 0004")
				p.hears()
				p.up(two)
				return first
			}, nil},
		{"X X 0 0, of a former association that was restarted",
			func(p *station, first initiation) initiation {
				p.up(two)
				return first
			}, nil},
		{"X X 0 0, of an attempt that came to nothing", func(p *station, _ initiation) initiation {
			p.aborts()
			late := p.init(two)
			p.up(three)
			return late
		}, nil},
		{"X X X X, of a restart of a former association", func(p *station, _ initiation) initiation {
			restart := p.init(two)
			p.aborts()
			p.up(three)
			return restart
		}, nil},
		{"X M M M", func(p *station, _ initiation) initiation { return p.init(one) }, nil},
		{"X X M X", func(p *station, first initiation) initiation {
			return forged(p, first.tag^1, two, func(t *tieTags) { t.peer++ })
		}, nil},
		{"X X X M", func(p *station, first initiation) initiation {
			return forged(p, first.tag^1, two, func(t *tieTags) { t.local++ })
		}, nil},
		{"X X M 0", func(p *station, first initiation) initiation {
			return forged(p, first.tag^1, two, func(t *tieTags) { t.peer = 0 })
		}, nil},
		{"M X M M, action B, too late", func(p *station, first initiation) initiation {
			return forged(p, first.tag, two, func(*tieTags) {})
		}, nil},
		{"X X 0 0, stale", func(p *station, first initiation) initiation {
			p.aborts()
			time.Sleep(cookieLife + time.Second)
			p.up(two)
			return first
		}, []string{"11111111: 0900000c0003000800000000"}},
		{"X X M M, stale", func(p *station, _ initiation) initiation {
			late := p.init(two)
			time.Sleep(cookieLife + time.Second)
			return late
		}, []string{"22222222: 0900000c0003000800000000"}},
		{"M X 0 0, stale", func(p *station, first initiation) initiation {
			late := forged(p, first.tag, two, func(t *tieTags) { *t = tieTags{} })
			time.Sleep(cookieLife + time.Second)
			return late
		}, []string{"22222222: 0900000c0003000800000000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newStation(t, Config{})
				first := p.up(one)
				p.carries()
				late := tt.play(p, first)
				before := p.carries()
				p.echo(late)
				p.hears(tt.answer...)
				if p.carries().a != before.a {
					t.Error("the association is another one")
				}
				if n := p.l.cfg.Counters.Stats().BadPackets; n != 0 {
					t.Errorf("%d bad packets are counted", n)
				}
			})
		})
	}
}

// TestCookieWithoutAssociation: a cookie makes an association when there is none, also if it was
// made for a restart, or made one before (RFC 9260 section 5.1.5).
func TestCookieWithoutAssociation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newStation(t, Config{})
		first := p.up(1)
		p.carries()
		restart := p.init(2)
		p.aborts()
		p.upWith(2, restart)
		p.carries()
		p.aborts()
		p.upWith(1, first)
		p.carries()
	})
}

// TestUnexpectedInit: an INIT while there is an association is answered, with a tag of its own, and
// changes nothing (RFC 9260 section 5.2.2). The answer does not tell the association's tags.
func TestUnexpectedInit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newStation(t, Config{})
		const tag = 0x11111111
		p.up(tag)
		before := p.carries()
		first, second := p.init(0x22222222), p.init(0x22222222)
		if first.tag == p.theirs.tag || second.tag == p.theirs.tag || first.tag == second.tag {
			t.Errorf("tags %x and %x, of the association %x", first.tag, second.tag, p.theirs.tag)
		}
		if first.out != p.theirs.out || first.in != p.theirs.in || first.window != p.theirs.window {
			t.Errorf("INIT ACK is %+v, that of the association was %+v", first, p.theirs)
		}
		for _, secret := range []uint32{tag, p.theirs.tag} {
			if bytes.Contains(first.cookie, binary.BigEndian.AppendUint32(nil, secret)) {
				t.Errorf("the cookie tells the tag %x", secret)
			}
		}
		if p.carries().a != before.a {
			t.Error("the association is another one")
		}
	})
}

// TestUnexpectedAnswers: INIT ACK, COOKIE ACK and a stale cookie error change nothing in an
// association, and are not answered (RFC 9260 sections 5.2.3, 5.2.5 and 5.2.6).
func TestUnexpectedAnswers(t *testing.T) {
	for name, chunk := range map[string]string{
		"INIT ACK":           "02 00 001c 00000007 00100000 0001 0001 00000001 0007 0008 63636363",
		"COOKIE ACK":         "0b 00 0004",
		"stale cookie error": "09 00 000c 0003 0008 00000001",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newStation(t, Config{})
				p.up(1)
				before := p.carries()
				p.says(p.theirs.tag, chunk)
				p.hears()
				if p.carries().a != before.a {
					t.Error("the association is another one")
				}
			})
		})
	}
}

// TestRestart: the cookie of an INIT that came while there was an association replaces it: X X M M,
// action A (RFC 9260 section 5.2.4). Its sessions end with ErrRestarted.
func TestRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newStation(t, Config{})
		p.up(0x11111111)
		old, former := p.carries(), p.theirs
		p.up(0x22222222)
		if err := old.LLP(time.Minute).Receive(new(sink)); err != ErrRestarted {
			t.Errorf("the session of before: got error %v, want %v", err, ErrRestarted)
		}
		if c := p.carries(); c.a == old.a || c.Stream() != 0 {
			t.Errorf("the session is on stream %d of the old association", c.Stream())
		}
		p.says(former.tag, "03 00 0010 00000001 00100000 0000 0000")
		p.hears(fmt.Sprintf("%08x: 06010004", former.tag)) // out of the blue
		if n := p.l.cfg.Counters.Stats(); n.Associations != 2 || n.Lost != 1 {
			t.Errorf("counted %+v", n)
		}
	})
}

// TestRestartUnread: an association whose only session is not read ends at once when it is
// restarted, and does not linger beside its successor until there is room for what the peer sent.
func TestRestartUnread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newStation(t, Config{StreamMemory: maxMessage})
		p.up(1)
		old := p.carries()
		defer old.Close()
		const size = 8000
		for ssn := range maxMessage/size + 1 {
			p.says(p.theirs.tag, fmt.Sprintf("00 0f %04x %08x 0000 0000 00000010 %04x %0*x",
				dataHeaderLen+size, p.tsn, ssn+1, 2*(size-ssnLen), 0))
			p.tsn++
		}
		p.wire.heard() // SACKs
		p.up(2)
		select {
		case <-old.a.over:
		default:
			t.Error("the association of before has not ended")
		}
	})
}

// TestRestartPlaces: a restart has the place of its predecessor among a Listener's associations,
// neither more nor less, even if its host would not get another now.
func TestRestartPlaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newStation(t, Config{MaxAssociations: 4})
		a.up(1)
		other := *a
		other.port = 3
		other.up(2)
		b, c, d := a.another("192.0.2.3:9899"), a.another("192.0.2.4:9899"), a.another("192.0.2.5:9899")
		b.up(3)
		for tag := range uint32(5) {
			a.up(10 + tag)
			a.carries()
		}
		c.up(4)
		a.up(20)
		d.saysInit(5)
		d.hears("00000005: 0600000800040004")
		a.aborts()
		d.up(6)
		other.carries()
		b.carries()
	})
}

// TestRestartRefused: a restart by a host that is no longer admitted is refused. The association
// goes on.
func TestRestartRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var refuse atomic.Bool
		p := newStation(t, Config{Admit: func(netip.Addr) bool { return !refuse.Load() }})
		p.up(1)
		before := p.carries()
		ack := p.init(2)
		refuse.Store(true)
		p.echo(ack)
		p.hears("00000002: 0600000800040004")
		if p.carries().a != before.a {
			t.Error("the association is another one")
		}
	})
}

// TestRestartWhileLeaving: an association that has acknowledged the peer's SHUTDOWN is not
// restarted. The acknowledgement is repeated instead, after which the peer begins again (RFC 9260
// sections 5.2.4 and 9.2).
func TestRestartWhileLeaving(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newStation(t, Config{})
		p.up(1)
		old := p.carries()
		restart := p.init(2)
		p.says(p.theirs.tag, fmt.Sprintf("07 00 0008 %08x", p.theirs.tsn-1))
		p.hears("00000001: 08000004")
		p.saysInit(3)
		p.hears("00000001: 08000004")
		p.echo(restart)
		p.hears("00000001: 08000004", "00000002: 09000008000a0004")
		p.says(1, "0e 01 0004") // SHUTDOWN COMPLETE out of the blue
		p.hears()
		if err := old.LLP(time.Minute).Receive(new(sink)); !errors.Is(err, io.EOF) {
			t.Errorf("the session of before: got error %v, want %v", err, io.EOF)
		}
		p.upWith(2, restart)
		p.carries()
	})
}
