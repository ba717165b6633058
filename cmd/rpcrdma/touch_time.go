package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// parseTime parses a time as touch takes it; zone is where there is none in it.
func parseTime(s string, zone *time.Location) (nfs3.Time, error) {
	var at time.Time
	var err error
	if seconds, ok := strings.CutPrefix(s, "@"); ok && strings.Trim(seconds, "0123456789.") == "" {
		var since time.Duration
		since, err = time.ParseDuration(seconds + "s")
		at = time.Unix(0, 0).Add(since)
	} else {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
			if at, err = time.ParseInLocation(layout, s, zone); err == nil {
				break
			}
		}
	}
	if err != nil {
		return nfs3.Time{}, fmt.Errorf("%s is no time: write 2006-01-02T15:04:05Z, 2006-01-02 or @SECONDS", printable(s))
	}
	if at.Unix() < 0 || at.Unix() > math.MaxUint32 {
		return nfs3.Time{}, fmt.Errorf("%s: NFS version 3 has the times from 1970 to 2106", printable(s))
	}
	return nfs3.Time{Sec: uint32(at.Unix()), Nsec: uint32(at.Nanosecond())}, nil
}
