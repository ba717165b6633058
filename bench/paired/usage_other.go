//go:build !unix

package paired

import "time"

func cpuTime() time.Duration { return 0 }
