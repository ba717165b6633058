package copy

import (
	"fmt"
	"io"
	"net"
	"os"
)

// The roles of children: which end of a raw connection they are.
const (
	sender   = "sender"
	receiver = "receiver"
)

// rawBuffer is what either end reads and writes at a time.
const rawBuffer = 1 << 20

// raw is one end: the receiver listens, prints its address, and keeps what one connection brings in a file. The sender sends a file,
// and waits until the receiver has it.
func raw(role, addr, name string) error {
	if role == sender {
		return send(addr, name)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println(l.Addr())
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	return receive(conn, name)
}

func receive(conn net.Conn, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := move(f, conn); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = conn.Write([]byte{1})
	return err
}

func send(addr, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	conn := c.(*net.TCPConn)
	defer conn.Close()
	if err := move(conn, f); err != nil {
		return err
	}
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

// move copies through user space, without the kernel's shortcuts: get and put look at every byte, too.
func move(w io.Writer, r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, rawBuffer))
	return err
}
