package sctp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unhex decodes hexadecimal digits with anything between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestInitGolden has an INIT written by hand, from RFC 9260 sections 3.1, 3.2 and 3.3.2 and RFC
// 5061 section 4.2.6.
func TestInitGolden(t *testing.T) {
	want := unhex(t, `
		c000 4e51 00000000 00000000
		01 00 001c
		11223344 00100000
		0100 0100 55667788
		c006 0008 00000001`)
	i := initiation{tag: 0x11223344, window: 1 << 20, out: 256, in: 256, tsn: 0x55667788, indication: DDP}
	got := appendChunk(header{src: 49152, dst: 20049}.append(nil), chunkInit, 0, i.append(nil))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	sealed := seal(bytes.Clone(got))
	h, ok := parseHeader(bytes.Clone(sealed))
	if !ok || h != (header{src: 49152, dst: 20049}) {
		t.Errorf("parsed: %+v, %t", h, ok)
	}
	for bit := range len(sealed) * 8 {
		p := bytes.Clone(sealed)
		p[bit/8] ^= 1 << (bit % 8)
		if _, ok := parseHeader(p); ok {
			t.Errorf("with bit %d changed the checksum is right", bit)
		}
	}
	c, rest := nextChunk(want[headerLen:])
	if !c.is(chunkInit) || len(rest) != 0 {
		t.Fatalf("chunk %x, rest %x", []byte(c), rest)
	}
	parsed, err := parseInitiation(c.value())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(i, parsed, cmp.AllowUnexported(initiation{})); d != "" {
		t.Errorf("parsed (-want +got):\n%s", d)
	}
}

// TestChecksum checks the CRC32c of RFC 3720 section B.4, placed in a packet as in RFC 9260
// appendix A.
func TestChecksum(t *testing.T) {
	p := make([]byte, 32)
	seal(p)
	if got := p[8:12]; !bytes.Equal(got, unhex(t, "aa36918a")) {
		t.Errorf("of 32 zeros: %x, want aa36918a", got)
	}
}

// TestInitRefused has invalid INITs.
func TestInitRefused(t *testing.T) {
	const good = "11223344 00100000 0100 0100 55667788"
	for _, tt := range []struct {
		name, init string
		want       error
	}{
		{"whole", good, nil},
		{"short", good[:34], errInitTag},
		{"tag 0", "00000000 00100000 0100 0100 55667788", errInitTag},
		{"no streams out", "11223344 00100000 0000 0100 55667788", errInitStreams},
		{"no streams in", "11223344 00100000 0100 0000 55667788", errInitStreams},
		{"small window", "11223344 000005db 0100 0100 55667788", errInitWindow},
		{"least window", "11223344 000005dc 0100 0100 55667788", nil},
		{"host name", good + "000b 0008 61620000", errHostName},
		{"parameter cut short", good + "c006 0008 0000", errInitFormat},
		{"parameter of length 3", good + "c006 0003", errInitFormat},
		{"indication of 2 bytes", good + "c006 0006 0001 0000", errInitFormat},
		{"half a parameter", good + "c0", errInitFormat},
		{"addresses", good + "0005 0008 7f000001 000c 0006 0005 0000", nil},
	} {
		if _, err := parseInitiation(unhex(t, tt.init)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got error %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestUnknownParameters: the upper two bits of an unknown type say what to do (RFC 9260 section
// 3.2.1).
func TestUnknownParameters(t *testing.T) {
	const good = "11223344 00100000 0100 0100 55667788"
	for _, tt := range []struct {
		kind     string
		reported string
		goesOn   bool
	}{
		{"1234", "", false},
		{"5234", "0008 0009 5234 0005 ff 000000", false},
		{"9234", "", true},
		{"d234", "0008 0009 d234 0005 ff 000000", true},
	} {
		i, err := parseInitiation(unhex(t, good+tt.kind+"0005 ff 000000 c006 0008 00000001"))
		if err != nil {
			t.Errorf("%s: %v", tt.kind, err)
		}
		if (i.indication == DDP) != tt.goesOn {
			t.Errorf("%s: what follows is looked at: %t, want %t", tt.kind, !tt.goesOn, tt.goesOn)
		}
		if want := unhex(t, tt.reported); !bytes.Equal(i.unrecognized, want) {
			t.Errorf("%s: reported %x, want %x", tt.kind, i.unrecognized, want)
		}
	}
}

// TestCookie: a cookie is accepted for a minute, and only from the peer that got it.
func TestCookie(t *testing.T) {
	now := time.Unix(1e9, 0)
	b := newBakery()
	b.now = func() time.Time { return now }
	from := netip.MustParseAddrPort("192.0.2.1:9899")
	c := &cookie{
		from: from, src: 49152, dst: 20049, ties: tieTags{11, 12},
		ours:   initiation{tag: 1, window: 2 << 20, out: 3, in: 4, tsn: 5},
		theirs: initiation{tag: 6, window: 7 << 20, out: 8, in: 9, tsn: 10},
	}
	baked := b.bake(c)
	h := header{src: 49152, dst: 20049, tag: 1}
	got, err := b.open(baked, from, h)
	if err != nil {
		t.Fatal(err)
	}
	c.made = now
	if d := cmp.Diff(c, got, cmp.AllowUnexported(cookie{}, tieTags{}, initiation{}),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := b.open(baked, netip.MustParseAddrPort("192.0.2.1:1"), h); err != nil {
		t.Errorf("from another UDP port: %v", err)
	}
	for name, open := range map[string]func() (*cookie, error){
		"another address": func() (*cookie, error) {
			return b.open(baked, netip.MustParseAddrPort("192.0.2.2:9899"), h)
		},
		"another port": func() (*cookie, error) {
			return b.open(baked, from, header{src: 49153, dst: 20049, tag: 1})
		},
		"another tag": func() (*cookie, error) {
			return b.open(baked, from, header{src: 49152, dst: 20049, tag: 2})
		},
		"another key":  func() (*cookie, error) { return newBakery().open(baked, from, h) },
		"a byte less":  func() (*cookie, error) { return b.open(baked[:len(baked)-1], from, h) },
		"nothing":      func() (*cookie, error) { return b.open(nil, from, h) },
		"another byte": func() (*cookie, error) { p := bytes.Clone(baked); p[40]++; return b.open(p, from, h) },
	} {
		if _, err := open(); err != errCookie {
			t.Errorf("%s: got error %v, want %v", name, err, errCookie)
		}
	}
	now = now.Add(cookieLife)
	if _, err := b.open(baked, from, h); err != nil {
		t.Errorf("after %v: %v", cookieLife, err)
	}
	now = now.Add(time.Millisecond)
	if _, err := b.open(baked, from, h); err != errCookieStale {
		t.Errorf("a moment later: got error %v, want %v", err, errCookieStale)
	}
}

// TestControlGolden has session control messages written by hand, from RFC 5043 section 5.2.3 and
// RFC 6581 section 7.
func TestControlGolden(t *testing.T) {
	for _, tt := range []struct {
		message control
		bytes   string
	}{
		{control{initiate, []byte("pd")}, "0001 7064"},
		{control{accept, []byte{}}, "0002"},
		{control{reject, []byte("no")}, "0003 6e6f"},
		{control{terminate, []byte{}}, "0004"},
		{control{enhancedInitiate, []byte("\x80\x10\x40\x10pd")}, "0005 8010 4010 7064"},
		{control{enhancedAccept, []byte("\x80\x10\x40\x10")}, "0006 8010 4010"},
		{control{enhancedReject, []byte("\x80\x10\x40\x10")}, "0007 8010 4010"},
		{control{initiate, bytes.Repeat([]byte{'x'}, 512)}, "0001" + strings.Repeat("78", 512)},
	} {
		want := unhex(t, tt.bytes)
		if got := tt.message.append(nil); !bytes.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", tt.message.function, got, want)
		}
		got, err := parseControl(want)
		if err != nil {
			t.Errorf("%v: %v", tt.message.function, err)
		}
		if d := cmp.Diff(tt.message, got, cmp.AllowUnexported(control{})); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.message.function, d)
		}
	}
	for name, message := range map[string]string{
		"nothing":                        "",
		"a byte":                         "00",
		"function 0":                     "0000",
		"function 8":                     "0008",
		"513 bytes of private data":      "0001" + strings.Repeat("78", 513),
		"enhanced Initiate without data": "0005",
		"enhanced Accept with 3 bytes":   "0006 801040",
		"Terminate with private data":    "0004 70",
	} {
		if _, err := parseControl(unhex(t, message)); !errors.Is(err, errControl) {
			t.Errorf("%s: got error %v, want %v", name, err, errControl)
		}
	}
}

// FuzzPacket receives any packet with a correct checksum. Nothing panics, and pion/sctp is only
// given whole chunks.
func FuzzPacket(f *testing.F) {
	f.Add(unhex(f, "03 00 0010 00000001 00100000 0000 0000"))
	f.Add(unhex(f, "00 07 0014 00000001 0001 0000 00000010 0000 4142"))
	f.Add(unhex(f, "00 02 0014 00000001 0001 0000 00000010 0000 4142 00 01 0013 00000002 0001 0000 00000010 43 4445"))
	f.Fuzz(func(t *testing.T, chunks []byte) {
		if len(chunks) > 1<<16 {
			return
		}
		cfg, err := Config{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := newSocket(cfg, nowhere{})
		from := path{peer: netip.MustParseAddrPort("192.0.2.1:9899")}
		l := newLink(s, header{src: 1, dst: 2, tag: 3}, 4, 16, from)
		s.add(l)
		s.packet(seal(append(header{src: 2, dst: 1, tag: 4}.append(nil), chunks...)), from)
		buf := make([]byte, pionPacket)
		for l.queue.Len() > 0 {
			q, err := l.next()
			if err != nil {
				t.Fatal(err)
			}
			p := buf[:l.read(buf, q)]
			if len(p)%4 != 0 {
				t.Fatalf("a packet of %d bytes", len(p))
			}
			for rest := p[min(headerLen, len(p)):]; len(rest) > 0; {
				var c chunk
				if c, rest = nextChunk(rest); c == nil || c.is(chunkData) {
					t.Fatalf("not a chunk for pion/sctp in %x", p)
				}
			}
		}
		l.Close()
		l.in.close()
		if !cfg.memory.Take(l.host, int64(cfg.Memory)) && l.in.first == nil {
			t.Fatal("there is memory that nothing has")
		}
	})
}
