//go:build interop

package kerberos

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// peerLimit is the time after which a hanging peer is killed.
const peerLimit = time.Minute

// peer is MIT's end of a context.
type peer struct {
	t       *testing.T
	in      io.Writer
	answers *bufio.Reader
}

// startPeer runs the program in peer until the test ends.
func startPeer(t *testing.T, cmd *exec.Cmd) *peer {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(peerLimit, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	return &peer{t, in, bufio.NewReaderSize(out, 8<<20)}
}

// ask sends the peer a command. It returns the words of its answer, or its error.
func (p *peer) ask(command string, args ...[]byte) ([]string, error) {
	p.t.Helper()
	line := command
	for _, a := range args {
		line += " " + toHex(a)
	}
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.answers.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the peer has ended: %v", err)
	}
	words := strings.Fields(answer)
	switch {
	case len(words) > 0 && words[0] == "ok":
		return words[1:], nil
	case len(words) > 0 && words[0] == "error":
		return words[len(words)-1:], fmt.Errorf("%s", strings.TrimSpace(answer))
	}
	p.t.Fatalf("the peer has answered %q", answer)
	return nil, nil
}

// bytes is ask for an answer that is bytes.
func (p *peer) bytes(command string, args ...[]byte) []byte {
	p.t.Helper()
	words, err := p.ask(command, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return fromHex(p.t, words[len(words)-1])
}

// must is ask for a command that must succeed.
func (p *peer) must(command string, args ...[]byte) []string {
	p.t.Helper()
	words, err := p.ask(command, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return words
}

func toHex(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	if s == "-" {
		return []byte{}
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
