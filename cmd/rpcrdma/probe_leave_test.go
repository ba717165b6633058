package main

import (
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestProbeLeaves: probe never leaves a connection to an RDMA port before it has sent something,
// nor right after the setup. Linux does not survive these: the first stops its listener, the second
// crashes a kernel thread.
func TestProbeLeaves(t *testing.T) {
	server := rdmaServer(t, iwarp.Config{}, programsOf(t,
		nfsserver.Export{Path: "/", FS: exported(t)})...)
	var (
		mu    sync.Mutex // guards what follows
		conns int
		left  []string
	)
	var served sync.WaitGroup
	served.Add(1) // until all have come
	relay := listening(t, func(client net.Conn) {
		served.Add(1)
		defer served.Done()
		to, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer to.Close()
		turns, refused := turnsOf(client, to)
		mu.Lock()
		defer mu.Unlock()
		conns++
		switch {
		case turns == 0:
			left = append(left, "without a word")
		case turns == 1 && !refused:
			left = append(left, "right after the setup")
		}
	})
	for _, scheme := range schemes { // the second finds the ports swapped
		probing{}.of(t, scheme+"://"+relay)
	}
	served.Done()
	served.Wait()
	if conns < 6 || len(left) > 0 {
		t.Errorf("of %d connections these were left: %q", conns, left)
	}
}

// turnsOf passes a connection on until both ends have closed it. It returns how often the client
// spoke after the server, and whether the server closed first.
func turnsOf(client, server net.Conn) (turns int, refused bool) {
	var (
		mu     sync.Mutex // guards what follows
		theirs = true     // it was the server's turn
		ended  bool       // by the client
	)
	var wg sync.WaitGroup
	wg.Go(func() {
		p := make([]byte, 64<<10)
		for {
			n, err := server.Read(p)
			if err != nil {
				mu.Lock()
				refused = !ended
				mu.Unlock()
				client.(*net.TCPConn).CloseWrite()
				return
			}
			mu.Lock()
			theirs = true
			mu.Unlock()
			client.Write(p[:n])
		}
	})
	p := make([]byte, 64<<10)
	for {
		n, err := client.Read(p)
		if err != nil {
			break
		}
		mu.Lock()
		if theirs {
			turns++
		}
		theirs = false
		mu.Unlock()
		server.Write(p[:n])
	}
	mu.Lock()
	ended = true
	mu.Unlock()
	server.(*net.TCPConn).CloseWrite()
	wg.Wait()
	return turns, refused
}
