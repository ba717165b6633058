//go:build interop

package tshark

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// limit ends what hangs.
const limit = time.Minute

// capture is a running dumpcap on the loopback interface.
type capture struct {
	cmd    *exec.Cmd
	port   int
	file   string
	stderr *lines
}

// startCapture captures the traffic of a port of 127.0.0.1.
func startCapture(t *testing.T, port int) *capture {
	t.Helper()
	c := &capture{port: port, file: filepath.Join(evidence.Dir(t), "capture.pcapng"), stderr: newLines()}
	c.cmd = exec.CommandContext(t.Context(), "dumpcap", "-q", "-i", "lo", "-B", "64", "-f", fmt.Sprintf("port %d", port), "-w", c.file)
	c.cmd.Stderr = c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("dumpcap: %v", err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	// The file is named when capturing has begun.
	if !c.stderr.await("File: ") {
		t.Fatalf("dumpcap does not capture:\n%s", c.stderr)
	}
	return c
}

// stop stops capturing once everything sent so far is in the file.
func (c *capture) stop(t *testing.T) string {
	t.Helper()
	// What arrives is written in order, so the last of it will be this datagram.
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", c.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	last := []byte("this is the end of the capture")
	if _, err := conn.Write(last); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, last) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the end of the session is not in the capture of %d bytes:\n%s", len(b), c.stderr)
		}
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("dumpcap: %v\n%s", err, c.stderr)
	}
	return c.file
}
