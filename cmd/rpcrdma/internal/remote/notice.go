package remote

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// notices tell the user about a server while a command waits for it.
type notices struct {
	out     io.Writer
	from    string        // the URL of the server
	wait    time.Duration // how long calls wait
	verbose bool

	mu   sync.Mutex // guards what follows
	up   bool       // there has been a connection
	down bool       // and since then a failed attempt, which the user has been told
	last error      // of the latest attempt
	told bool       // the user knows that answers are slow
	mute time.Time  // say nothing about slow answers until then
}

// failed notes an attempt to connect.
func (n *notices) failed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = err
	if n.up && !n.down && n.wait > 0 {
		n.down = true
		fmt.Fprintf(n.out, "rpcrdma: %s does not respond; waiting for up to %v: %s\n", n.from, n.wait,
			cli.Cut(err.Error()))
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

// dialing notes that there is no connection. why is the reason until a better one is known.
func (n *notices) dialing(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = why
	}
}

// wasUp reports whether there has ever been a connection.
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

// An answer is slow after slowAnswer, and with --verbose after slowIfVerbose.
const (
	slowAnswer    = 10 * time.Second
	slowIfVerbose = time.Second
)

// muteTime is the time after a notice of a slow answer without further ones.
const muteTime = 10 * time.Second

// slow is the time after which an answer is slow.
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
