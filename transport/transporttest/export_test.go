package transporttest

import "time"

// SetPatience sets how long the suite waits for an event before it fails.
func SetPatience(d time.Duration) { patience = d }
