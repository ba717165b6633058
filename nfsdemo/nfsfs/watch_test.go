package nfsfs

import (
	"fmt"
	"regexp"
	"runtime"
	"time"
)

// tooLong is the time limit of a test. The longest test takes a second.
const tooLong = 2 * time.Minute

var testName = regexp.MustCompile(`nfsfs(?:_test)?\.Test(?:M[^a]|[^M])\w+`)

// Watch ends all tests with a dump of the goroutines if a test takes too long. It returns a
// function to call at the end of the test.
func Watch() (over func() bool) {
	return time.AfterFunc(tooLong, func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		panic(fmt.Sprintf("%s still waits after %v:\n%s", testName.Find(stacks), tooLong, stacks))
	}).Stop
}
