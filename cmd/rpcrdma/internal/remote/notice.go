package remote

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// notices tell the user how a server is while a command waits for it.
type notices struct {
	out     io.Writer
	from    string        // the URL of the server
	wait    time.Duration // how long calls wait
	verbose bool

	mu   sync.Mutex // guards what follows
	up   bool       // there has been a connection
	down bool       // and since then an attempt that failed, of which the user knows
	last error      // of the latest attempt
	told bool       // the user knows that answers are slow
	mute time.Time  // until when he need not be told again
}

// failed notes an attempt to connect.
func (n *notices) failed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = err
	if n.up && !n.down && n.wait > 0 {
		n.down = true
		fmt.Fprintf(n.out, "rpcrdma: %s does not respond; waiting for up to %v: %s\n", n.from, n.wait, cli.Cut(err.Error()))
	}
}

// connected notes one that worked.
func (n *notices) connected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up, n.last = true, nil
	if n.down {
		n.down = false
		fmt.Fprintf(n.out, "rpcrdma: %s is back\n", n.from)
	}
}

// dialing notes that there is no connection, and what is to be said of it as long as nothing else
// is known.
func (n *notices) dialing(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = why
	}
}

// wasUp reports whether there has been a connection.
func (n *notices) wasUp() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up
}

// lost is why there is no connection, nil if there is one.
func (n *notices) lost() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// From when on an answer is slow: for everybody, and for who wants to know more.
const (
	slowAnswer    = 10 * time.Second
	slowIfVerbose = time.Second
)

// muteTime is how long nothing is said of slow answers after something was.
const muteTime = 10 * time.Second

// slow is from when on an answer is slow.
func (n *notices) slow() time.Duration {
	if n.verbose {
		return slowIfVerbose
	}
	return slowAnswer
}

// silent notes that a server has owed an answer for some time.
func (n *notices) silent(since, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told || n.down || n.last != nil || time.Now().Before(n.mute) {
		return
	}
	n.told = true
	fmt.Fprintf(n.out, "rpcrdma: %s has not answered for %v; waiting for up to %v\n", n.from,
		since.Round(100*time.Millisecond), wait)
}

// answered notes an answer after some time.
func (n *notices) answered(after time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.told {
		return
	}
	n.told, n.mute = false, time.Now().Add(muteTime)
	fmt.Fprintf(n.out, "rpcrdma: %s has answered after %v\n", n.from, after.Round(100*time.Millisecond))
}
