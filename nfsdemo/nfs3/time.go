package nfs3

import (
	"math"
	"time"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Time is nfstime3 (RFC 1813 section 2.6). Its seconds have no sign, so it goes from 1970 to
// February 2106.
type Time struct {
	Sec  uint32 // since 1970 UTC
	Nsec uint32
}

// TimeOf returns the Time that is nearest to t. within reports whether t is within the times of
// NFS, so that the result is t itself.
func TimeOf(t time.Time) (nearest Time, within bool) {
	switch s := t.Unix(); {
	case s < 0:
		return Time{}, false
	case s > math.MaxUint32:
		return Time{math.MaxUint32, 1e9 - 1}, false
	default:
		return Time{uint32(s), uint32(t.Nanosecond())}, true
	}
}

// Nearest is TimeOf for those who take the nearest time, as servers and copies do.
func Nearest(t time.Time) Time {
	nearest, _ := TimeOf(t)
	return nearest
}

// Nanos returns t in nanoseconds since 1970 UTC.
func (t Time) Nanos() int64 { return int64(t.Sec)*1e9 + int64(t.Nsec) }

// Time returns t as the standard library's type.
func (t Time) Time() time.Time { return time.Unix(int64(t.Sec), int64(t.Nsec)) }

const timeLen = 8

// MarshalXDR appends t.
func (t *Time) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(t.Sec)
	e.Uint32(t.Nsec)
}

// UnmarshalXDR decodes t.
func (t *Time) UnmarshalXDR(d *xdr.Decoder) {
	t.Sec = d.Uint32()
	t.Nsec = d.Uint32()
}
