package krb5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

const maxCache = 16 << 20 // maximum length of a credential cache in bytes

// cachePath returns the path of the credential cache; name is InitiatorConfig.Cache.
func cachePath(name string, conf *profile) (string, error) {
	if name == "" {
		name = os.Getenv("KRB5CCNAME")
	}
	if name == "" && conf != nil {
		name = conf.lib("default_ccache_name")
	}
	uid := strconv.Itoa(os.Getuid())
	if name == "" {
		name = "/tmp/krb5cc_" + uid
	}
	euid := strconv.Itoa(os.Geteuid())
	name = strings.NewReplacer("%{uid}", uid, "%{USERID}", uid, "%{euid}", euid,
		"%{username}", userName(name, euid), "%{TEMP}", os.TempDir(), "%{null}", "").Replace(name)
	path, err := filePath("credential cache", name)
	if err != nil {
		return "", fmt.Errorf("%w: kinit -c FILE:/tmp/krb5cc_%s, and KRB5CCNAME=FILE:/tmp/krb5cc_%[2]s",
			err, uid)
	}
	return path, nil
}

// userName returns the user's name if the name of the cache contains it as a parameter (MIT's
// krb5.conf(5)). If the user has no name, it returns the parameter.
func userName(cache, uid string) string {
	const param = "%{username}"
	if !strings.Contains(cache, param) {
		return param
	}
	u, err := user.LookupId(uid)
	if err != nil {
		return param
	}
	return u.Username
}

// cache is the content of a credential cache.
type cache struct {
	client  principal
	tickets []*ticket
	ahead   time.Duration // how far the KDC's clock was ahead of the host's
}

// readCache reads a credential cache.
func readCache(path string) (*cache, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no credential cache %s: run kinit", path)
	}
	if err != nil {
		return nil, fmt.Errorf("credential cache: %w", err)
	}
	if info.Size() > maxCache {
		return nil, fmt.Errorf("credential cache %s has %d bytes, more than %d", path, info.Size(),
			maxCache)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("credential cache: %w", err)
	}
	c, err := parseCache(b)
	if err != nil {
		return nil, fmt.Errorf("credential cache %s: %w: run kinit", path, err)
	}
	return c, nil
}

var errCacheFormat = errors.New("it is malformed, or of a version before 3")

// parseCache parses a credential cache of version 3 or 4 (MIT's description of the file format). It
// leaves out credentials with unsupported keys.
func parseCache(b []byte) (*cache, error) {
	r := &cacheReader{b: b}
	c := &cache{}
	switch version := r.uint16(); version {
	case 0x0504:
		c.ahead = r.header()
	case 0x0503:
		r.twice = true
	default:
		return nil, errCacheFormat
	}
	c.client = r.principal()
	for len(r.b) > 0 && !r.short {
		t := r.credential()
		if t == nil || r.short || strings.HasPrefix(t.service.realm, "X-CACHECONF") {
			continue
		}
		c.tickets = append(c.tickets, t)
	}
	if r.short || len(c.client.name) == 0 {
		return nil, errCacheFormat
	}
	return c, nil
}

// cacheReader reads the parts of a credential cache. Past its end, it returns zeros.
type cacheReader struct {
	b     []byte
	short bool
	twice bool // encryption types appear twice
}

func (r *cacheReader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *cacheReader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *cacheReader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// tagOffset is the tag of the offset of the KDC's clock in a header.
const tagOffset = 1

// header returns the offset of the KDC's clock.
func (r *cacheReader) header() (ahead time.Duration) {
	fields := &cacheReader{b: r.bytes(int(r.uint16()))}
	for len(fields.b) > 0 {
		tag := fields.uint16()
		field := &cacheReader{b: fields.bytes(int(fields.uint16()))}
		if tag == tagOffset {
			ahead = time.Duration(int32(field.uint32())) * time.Second
			ahead += time.Duration(int32(field.uint32())) * time.Microsecond
		}
		fields.short = fields.short || field.short
	}
	r.short = r.short || fields.short
	return ahead
}

// data returns bytes that follow their length.
func (r *cacheReader) data() []byte { return r.bytes(int(int32(r.uint32()))) }

func (r *cacheReader) time() time.Time {
	if s := r.uint32(); s != 0 {
		return time.Unix(int64(s), 0)
	}
	return time.Time{}
}

func (r *cacheReader) principal() (p principal) {
	r.uint32() // the kind of name
	n := r.uint32()
	p.realm = string(r.data())
	for ; n > 0 && !r.short; n-- {
		p.name = append(p.name, string(r.data()))
	}
	return p
}

// credential returns a ticket, or nil if it is unusable.
func (r *cacheReader) credential() *ticket {
	t := &ticket{client: r.principal(), service: r.principal()}
	etype := r.uint16()
	if r.twice {
		etype = r.uint16()
	}
	k, err := keyOf(types.EncryptionKey{KeyType: int32(etype), KeyValue: r.data()})
	t.key = k
	proved := r.time()
	t.start, t.end = r.time(), r.time()
	if t.start.IsZero() {
		t.start = proved
	}
	r.time()      // end of renewal
	r.bytes(1)    // whether it is for user-to-user authentication
	r.uint32()    // its flags
	for range 2 { // addresses, and authorization data
		for n := r.uint32(); n > 0 && !r.short; n-- {
			r.uint16()
			r.data()
		}
	}
	t.encoded = r.data()
	r.data() // a second ticket
	if err != nil || len(t.encoded) == 0 {
		return nil
	}
	return t
}
