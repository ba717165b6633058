package bench

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestChildDiesWithParent kills the process that started a server. The server ends, which closes
// the connection to it.
func TestChildDiesWithParent(t *testing.T) {
	t.Setenv(childVariable, "parent")
	parent := exec.Command(self()[0])
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	parent.Process.Kill()
	parent.Wait()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the server lives on:", err)
	}
}

// TestChildFails: the errors for a server that does not start, and for a program that is no server.
func TestChildFails(t *testing.T) {
	t.Setenv(childVariable, "broken")
	if _, _, err := startChild(t.Context(), self(), nil); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "listen on 127.0.0.1:nowhere") {
		t.Errorf("got error %v, want one with what the server has said", err)
	}
	if _, _, err := startChild(t.Context(), []string{"/no/such/program"}, nil); err == nil {
		t.Error("got no error of a program that is not there")
	}
}
