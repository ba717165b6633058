package paired

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	if os.Getenv(coordinatorVariable) != "" {
		coordinate()
	}
	// In children, the race detector otherwise sleeps for a second at exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
