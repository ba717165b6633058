package sctp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
)

// cookieLife is how long a State Cookie is valid (Valid.Cookie.Life, RFC 9260 section 16).
const cookieLife = 60 * time.Second

// bakery makes State Cookies (RFC 9260 section 5.1.3). Until a peer has shown that it receives at
// its address, the cookie is all that exists of the association.
type bakery struct {
	key [sha256.Size]byte
	now func() time.Time
}

func newBakery() *bakery {
	b := &bakery{now: time.Now}
	_, _ = rand.Read(b.key[:]) // does not fail
	return b
}

// cookie is the content of a State Cookie.
type cookie struct {
	made     time.Time // to the millisecond
	from     netip.AddrPort
	src, dst uint16  // SCTP ports of the INIT
	ties     tieTags // of the association that the INIT may be a restart of
	ours     initiation
	theirs   initiation
}

// tieTags name an association in the cookies that are made while it exists. They are zero in those
// made while there is none (RFC 9260 section 5.2.2). As a cookie is not encrypted, they do not tell
// the verification tags (section 5.1.3).
type tieTags struct{ local, peer uint32 }

func newTieTags() tieTags { return tieTags{random(), random()} }

// Reasons to refuse a cookie.
var (
	errCookie      = errors.New("not a cookie of ours")
	errCookieStale = errors.New("stale cookie")
)

// appendInitiation appends what a cookie has of an initiation. The indication has been agreed on.
func appendInitiation(p []byte, i *initiation) []byte {
	short := initiation{tag: i.tag, window: i.window, out: i.out, in: i.in, tsn: i.tsn}
	return short.append(p)
}

func readInitiation(p []byte) initiation {
	return initiation{
		tag:    binary.BigEndian.Uint32(p),
		window: binary.BigEndian.Uint32(p[4:]),
		out:    binary.BigEndian.Uint16(p[8:]),
		in:     binary.BigEndian.Uint16(p[10:]),
		tsn:    binary.BigEndian.Uint32(p[12:]),
	}
}

// bake encodes a cookie, made now. It is short, since INIT ACK goes to an address that may not be
// the sender's of INIT: the address and the ports, which the packet that returns it has too, are
// only in the MAC.
func (b *bakery) bake(c *cookie) []byte {
	p := binary.BigEndian.AppendUint64(nil, uint64(b.now().UnixMilli()))
	p = binary.BigEndian.AppendUint32(p, c.ties.local)
	p = binary.BigEndian.AppendUint32(p, c.ties.peer)
	p = appendInitiation(p, &c.ours)
	p = appendInitiation(p, &c.theirs)
	return append(p, b.mac(p, c.from.Addr(), c.src, c.dst)...)
}

// mac returns the MAC of a cookie that came from an address, with the SCTP ports of its packet. The
// UDP port is not part of it, as a NAT may change that.
func (b *bakery) mac(p []byte, from netip.Addr, src, dst uint16) []byte {
	m := hmac.New(sha256.New, b.key[:])
	addr := from.As16()
	m.Write(addr[:])
	m.Write([]byte{byte(src >> 8), byte(src), byte(dst >> 8), byte(dst)})
	m.Write(p)
	return m.Sum(nil)[:macLen]
}

// cookieLen is the length of a cookie without its MAC, which is half of what SHA-256 gives (RFC
// 2104 section 5).
const (
	cookieLen = 8 + 8 + 2*initLen
	macLen    = sha256.Size / 2
)

// open decodes a cookie that came in a packet from an address (RFC 9260 section 5.1.5). It returns
// a stale one along with errCookieStale.
func (b *bakery) open(p []byte, from netip.AddrPort, h header) (*cookie, error) {
	if len(p) != cookieLen+macLen {
		return nil, errCookie
	}
	if !hmac.Equal(p[cookieLen:], b.mac(p[:cookieLen], from.Addr(), h.src, h.dst)) {
		return nil, errCookie
	}
	c := &cookie{
		made:   time.UnixMilli(int64(binary.BigEndian.Uint64(p))),
		from:   from,
		src:    h.src,
		dst:    h.dst,
		ties:   tieTags{binary.BigEndian.Uint32(p[8:]), binary.BigEndian.Uint32(p[12:])},
		ours:   readInitiation(p[16:]),
		theirs: readInitiation(p[16+initLen:]),
	}
	if h.tag != c.ours.tag {
		return nil, errCookie
	}
	if b.now().Sub(c.made) > cookieLife {
		return c, errCookieStale
	}
	return c, nil
}
