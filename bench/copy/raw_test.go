package copy

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
)

// The roles of children: the ends of a raw connection.
const (
	sender   = "sender"
	receiver = "receiver"
)

// transfer is one end. The receiver listens, prints its address, and writes what one connection
// brings to a file. The sender sends a file, and waits until the receiver has it.
func transfer(role, addr, name string) error {
	if role == sender {
		return send(addr, name)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println(l.Addr())
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := raw.Receive(l, f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func send(addr, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c, err := raw.Dial(context.Background(), addr, host.Sockets{}, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SendFile(f, info.Size())
}
