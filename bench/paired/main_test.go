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
	os.Setenv("GORACE", "atexit_sleep_ms=0") // of the children, which otherwise take a second to end
	goleak.VerifyTestMain(m)
}
