package nfsfs

import (
	"fmt"
	"regexp"
	"runtime"
	"time"
)

// tooLong is how long a test may take: the longest takes a second.
const tooLong = 2 * time.Minute

var testName = regexp.MustCompile(`nfsfs(?:_test)?\.Test(?:M[^a]|[^M])\w+`)

// Watch ends all tests with what the goroutines wait for, if a test takes too long. It returns what
// is called when the test is over.
func Watch() (over func() bool) {
	return time.AfterFunc(tooLong, func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		panic(fmt.Sprintf("%s still waits after %v:\n%s", testName.Find(stacks), tooLong, stacks))
	}).Stop
}
