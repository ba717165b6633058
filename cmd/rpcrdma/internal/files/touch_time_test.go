package files

import (
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for _, tt := range []struct {
		in   string
		want nfs3.Time
	}{
		{"@0", nfs3.Time{}},
		{"@1136214245", nfs3.Time{Sec: 1136214245}},
		{"@1136214245.000000007", nfs3.Time{Sec: 1136214245, Nsec: 7}},
		{"@4294967295.999999999", nfs3.Time{Sec: 4294967295, Nsec: 999999999}},
		{"2006-01-02T15:04:05Z", nfs3.Time{Sec: 1136214245}},
		{"2006-01-02T15:04:05.123456789Z", nfs3.Time{Sec: 1136214245, Nsec: 123456789}},
		{"2006-01-02T16:04:05+01:00", nfs3.Time{Sec: 1136214245}},
		{"2006-01-02T16:04:05+0100", nfs3.Time{Sec: 1136214245}},
		{"2006-01-02 14:34:05.5-00:30", nfs3.Time{Sec: 1136214245, Nsec: 500000000}},
		{"2006-01-02 14:34:05-0030", nfs3.Time{Sec: 1136214245}},
		{"2006-01-02 16:04:05.000000001 +0100", nfs3.Time{Sec: 1136214245, Nsec: 1}},
		{"2006-01-02T16:04:05", nfs3.Time{Sec: 1136214245}},
		{"2006-01-02 16:04:05.5", nfs3.Time{Sec: 1136214245, Nsec: 500000000}},
		{"2006-01-02 16:04", nfs3.Time{Sec: 1136214240}},
		{"2006-01-02", nfs3.Time{Sec: 1136156400}},
		{"1970-01-01T00:00:00Z", nfs3.Time{}},
		{"2106-02-07T06:28:15Z", nfs3.Time{Sec: 4294967295}},
	} {
		got, err := parseTime(tt.in, zone)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		"":                     "is not a time",
		"yesterday":            "is not a time",
		"@":                    "is not a time",
		"@1m":                  "is not a time",
		"@-1":                  "1970 to 2106",
		"@-0.5":                "1970 to 2106",
		"@1-1":                 "is not a time",
		"@-":                   "is not a time",
		"@1.2.3":               "is not a time",
		"@99999999999999":      "1970 to 2106",
		"@4294967296":          "1970 to 2106",
		"2106-02-07T06:28:16Z": "1970 to 2106",
		"1969-12-31T23:59:59Z": "1970 to 2106",
		"1970-01-01":           "1970 to 2106",
		"2006-13-01":           "is not a time",
		"1136214245":           "is not a time",
	} {
		if got, err := parseTime(in, zone); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", in, got, err, want)
		}
	}
}
