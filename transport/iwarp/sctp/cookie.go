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

const initiationLen = 20 // in a cookie

func appendInitiation(p []byte, i *initiation) []byte {
	short := initiation{tag: i.tag, window: i.window, out: i.out, in: i.in, tsn: i.tsn}
	return binary.BigEndian.AppendUint32(short.append(p), uint32(i.indication))
}

func readInitiation(p []byte) initiation {
	return initiation{
		tag:        binary.BigEndian.Uint32(p),
		window:     binary.BigEndian.Uint32(p[4:]),
		out:        binary.BigEndian.Uint16(p[8:]),
		in:         binary.BigEndian.Uint16(p[10:]),
		tsn:        binary.BigEndian.Uint32(p[12:]),
		indication: Indication(binary.BigEndian.Uint32(p[16:])),
	}
}

// bake encodes a cookie, made now. The UDP port of the peer is not part of it, as a NAT may change
// that.
func (b *bakery) bake(c *cookie) []byte {
	p := binary.BigEndian.AppendUint64(nil, uint64(b.now().UnixMilli()))
	addr := c.from.Addr().As16()
	p = append(p, addr[:]...)
	p = binary.BigEndian.AppendUint16(p, c.src)
	p = binary.BigEndian.AppendUint16(p, c.dst)
	p = binary.BigEndian.AppendUint32(p, c.ties.local)
	p = binary.BigEndian.AppendUint32(p, c.ties.peer)
	p = appendInitiation(p, &c.ours)
	p = appendInitiation(p, &c.theirs)
	return append(p, b.mac(p)...)
}

func (b *bakery) mac(p []byte) []byte {
	m := hmac.New(sha256.New, b.key[:])
	m.Write(p)
	return m.Sum(nil)
}

// cookieLen is the length of a cookie without its MAC.
const cookieLen = 8 + 16 + 4 + 8 + 2*initiationLen

// open decodes a cookie that came in a packet from an address (RFC 9260 section 5.1.5). It returns
// a stale one along with errCookieStale.
func (b *bakery) open(p []byte, from netip.AddrPort, h header) (*cookie, error) {
	if len(p) != cookieLen+sha256.Size {
		return nil, errCookie
	}
	if !hmac.Equal(p[cookieLen:], b.mac(p[:cookieLen])) {
		return nil, errCookie
	}
	c := &cookie{
		made:   time.UnixMilli(int64(binary.BigEndian.Uint64(p))),
		from:   from,
		src:    binary.BigEndian.Uint16(p[24:]),
		dst:    binary.BigEndian.Uint16(p[26:]),
		ties:   tieTags{binary.BigEndian.Uint32(p[28:]), binary.BigEndian.Uint32(p[32:])},
		ours:   readInitiation(p[36:]),
		theirs: readInitiation(p[36+initiationLen:]),
	}
	addr := from.Addr().As16()
	if [16]byte(p[8:]) != addr || c.src != h.src || c.dst != h.dst || h.tag != c.ours.tag {
		return nil, errCookie
	}
	if b.now().Sub(c.made) > cookieLife {
		return c, errCookieStale
	}
	return c, nil
}
