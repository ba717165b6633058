package rpcrdma_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestFaultsOfComers has one host come again and again, and be at fault each time: the log is told aloud once of each of its faults.
func TestFaultsOfComers(t *testing.T) {
	logger, lines := logTo()
	r, dial := newWireRig(t, rpcrdma.Config{Credits: 4, Logger: logger})
	for range 10 {
		p := dial()
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(77)(9))
		p.next()
		call := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
		p.burst(call, call, call, call, call)
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, rpcrdma.ErrExceeded) {
			t.Errorf("ended with %v, want ErrExceeded", err)
		}
	}
	seen, loud := map[string]int{}, map[string]int{}
	for seen["message refused"] < 10 || seen["connection lost"] < 10 {
		line := wait(t, lines)
		for _, what := range []string{"message refused", "connection lost"} {
			if strings.Contains(line, what) && strings.Contains(line, "peer=127.0.0.1:") {
				seen[what]++
				if strings.Contains(line, "level=WARN") {
					loud[what]++
				}
			}
		}
	}
	if loud["message refused"] != 1 || loud["connection lost"] != 1 {
		t.Errorf("aloud: %v, want each once", loud)
	}
}

// TestFaultsOfBadChunks has one host come again and again with a long call that cannot be read.
func TestFaultsOfBadChunks(t *testing.T) {
	logger, lines := logTo()
	r, dial := newWireRig(t, rpcrdma.Config{Logger: logger})
	for range 5 {
		p := dial()
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(rpcrdma.TypeNoMsg, 1, 0, 0xdead, 100, 0, 0, 0, 0, 0)(9))
		ended(t, conn)
	}
	for aborted, loud := 0, 0; aborted < 5; {
		line := wait(t, lines)
		if !strings.Contains(line, "call aborted") {
			continue
		}
		aborted++
		if strings.Contains(line, "level=WARN") {
			loud++
		}
		if aborted == 5 && loud != 1 {
			t.Errorf("%d of 5 aloud, want 1", loud)
		}
	}
}
