//go:build interop

package sctp

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// peer is a running peer.c.
type peer struct {
	t     *testing.T
	role  string // listen or connect
	udp   int    // its UDP port
	stdin io.WriteCloser
	lines <-chan string   // what it says, but for "dry"
	dry   <-chan struct{} // that all it has sent is acknowledged
	ended <-chan error    // how it ended, once
}

// message is one that a peer has received.
type message struct {
	Stream    int
	PPID      uint32
	Unordered bool
	TSN       uint32
	Bytes     string // in hexadecimal
}

// listen starts a peer that waits for an association.
func listen(t *testing.T, args ...string) *peer {
	t.Helper()
	return start(t, "listen", args)
}

// connect starts a peer that makes an association with the one at a UDP port.
func connect(t *testing.T, udp int, args ...string) *peer {
	t.Helper()
	return start(t, "connect", slices.Concat([]string{"-r", strconv.Itoa(udp)}, args))
}

func start(t *testing.T, role string, args []string) *peer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), peerProgram, slices.Concat([]string{role}, args)...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, dry, ended := make(chan string), make(chan struct{}, 1), make(chan error, 1)
	p := &peer{t: t, role: role, stdin: stdin, lines: lines, dry: dry, ended: ended}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { ended <- cmd.Wait() }()
		defer close(lines)
		s := bufio.NewScanner(stdout)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			if s.Text() == "dry" {
				select {
				case dry <- struct{}{}:
				default:
				}
				continue
			}
			select {
			case lines <- s.Text():
			case <-t.Context().Done(): // which also kills the program
			}
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		<-done
	})
	f := strings.Fields(p.next())
	if len(f) != 3 || f[0] != role+"ing" {
		t.Fatalf("the peer begins with %q", f)
	}
	p.udp, err = strconv.Atoi(f[1])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// next returns the next line.
func (p *peer) next() string {
	p.t.Helper()
	return hang.Receive(p.t, "a line of the peer that "+p.role+"s", p.lines)
}

// expect fails the test unless the next lines are these.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		if got := p.next(); got != w {
			p.t.Fatalf("the peer that %ss says %q, want %q", p.role, got, w)
		}
	}
}

// command gives the peer a command.
func (p *peer) command(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.stdin, format+"\n", args...); err != nil {
		p.t.Fatalf("the peer that %ss takes no command: %v", p.role, err)
	}
}

// send makes the peer send a message, given in hexadecimal.
func (p *peer) send(stream int, ppid uint32, unordered bool, bytes string) {
	p.t.Helper()
	p.command("send %d %d %s %s", stream, ppid, order(unordered), bytes)
}

// receive parses the message in the next line.
func (p *peer) receive() (m message) {
	p.t.Helper()
	line := p.next()
	var o string
	_, err := fmt.Sscanf(line, "recv %d %d %s %d %s", &m.Stream, &m.PPID, &o, &m.TSN, &m.Bytes)
	if err != nil || o != order(true) && o != order(false) {
		p.t.Fatalf("the peer that %ss says %q, want a message", p.role, line)
	}
	if _, err := hex.DecodeString(m.Bytes); err != nil {
		p.t.Fatalf("%q: %v", line, err)
	}
	m.Unordered = o == order(true)
	return m
}

// acknowledged waits until everything that the peer has sent is acknowledged.
func (p *peer) acknowledged() {
	p.t.Helper()
	hang.Receive(p.t, "the peer that "+p.role+"s to say that all is acknowledged", p.dry)
}

func order(unordered bool) string {
	if unordered {
		return "u"
	}
	return "o"
}
