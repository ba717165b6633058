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
	// of the children, which otherwise take a second to end
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}
