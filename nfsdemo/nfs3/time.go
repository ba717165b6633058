package nfs3

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Time is nfstime3 (RFC 1813 section 2.6). It ends in the year 2106.
type Time struct {
	Sec  uint32 // since 1970 UTC
	Nsec uint32
}

// TimeFromNanos returns the time of n nanoseconds since 1970 UTC.
func TimeFromNanos(n int64) Time { return Time{uint32(n / 1e9), uint32(n % 1e9)} }

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
