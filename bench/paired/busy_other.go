//go:build !linux

package paired

import "time"

func busyTime() time.Duration { return 0 }
