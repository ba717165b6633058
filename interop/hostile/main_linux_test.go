package hostile_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !attackIfLaunched() {
		goleak.VerifyTestMain(m)
	}
}
