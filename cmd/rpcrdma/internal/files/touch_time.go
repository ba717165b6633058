package files

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// timeLayouts are the forms of times with a zone, such as that of stat, and without.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
}

func timeRange(s string) error {
	return fmt.Errorf("%s: NFS version 3 has the times from 1970 to 2106", cli.Printable(s))
}

// parseTime parses a TIME of touch. zone is for a time without one.
func parseTime(s string, zone *time.Location) (nfs3.Time, error) {
	var at time.Time
	var err error
	if seconds, ok := strings.CutPrefix(s, "@"); ok && strings.Trim(seconds, "0123456789.-") == "" {
		var since float64
		if since, err = strconv.ParseFloat(seconds, 64); err == nil && (since < 0 || since > math.MaxUint32+1) {
			return nfs3.Time{}, timeRange(s)
		}
		var exact time.Duration
		if err == nil {
			exact, err = time.ParseDuration(seconds + "s")
		}
		at = time.Unix(0, 0).Add(exact)
	} else {
		for _, layout := range timeLayouts {
			if at, err = time.ParseInLocation(layout, s, zone); err == nil {
				break
			}
		}
	}
	if err != nil {
		return nfs3.Time{}, fmt.Errorf("%s is not a time: write 2006-01-02T15:04:05Z, 2006-01-02 or @SECONDS",
			cli.Printable(s))
	}
	on, ok := nfs3.TimeOf(at)
	if !ok {
		return nfs3.Time{}, timeRange(s)
	}
	return on, nil
}
