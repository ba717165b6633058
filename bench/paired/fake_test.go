package paired

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
)

// fakeEnd is the Server or the Client of a Scenario. Its fields determine its behaviour.
type fakeEnd struct {
	addr  string
	run   func(n int, samples []time.Duration) error
	close func() error
}

func (f fakeEnd) Addr() string { return f.addr }

func (f fakeEnd) Run(n int, samples []time.Duration) error {
	if f.run == nil {
		time.Sleep(time.Duration(n) * time.Microsecond)
		return nil
	}
	return f.run(n, samples)
}

func (f fakeEnd) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// registerFake registers a scenario. If listen or dial is nil, a plain fake is used.
func registerFake(name string, metric Metric, listen,
	dial func(s Sockets, addr string) (fakeEnd, error)) {
	plain := func(Sockets, string) (fakeEnd, error) { return fakeEnd{addr: "nowhere"}, nil }
	if listen == nil {
		listen = plain
	}
	if dial == nil {
		dial = plain
	}
	Register(Scenario{
		Name:   name,
		Metric: metric,
		Bytes:  1000,
		Listen: func(_ context.Context, s Sockets) (Server, error) { return listen(s, "") },
		Dial:   func(_ context.Context, s Sockets, addr string) (Client, error) { return dial(s, addr) },
	})
}

// keep holds allocations that must not be optimized away.
var keep []byte

func init() {
	running := func(run func(n int, samples []time.Duration) error) func(Sockets, string) (fakeEnd, error) {
		return func(Sockets, string) (fakeEnd, error) { return fakeEnd{run: run}, nil }
	}
	failing := func(what string) func(Sockets, string) (fakeEnd, error) {
		return func(Sockets, string) (fakeEnd, error) { return fakeEnd{}, errors.New(what) }
	}
	closing := func(what string) func(Sockets, string) (fakeEnd, error) {
		return func(Sockets, string) (fakeEnd, error) {
			return fakeEnd{close: func() error { return errors.New(what) }}, nil
		}
	}

	registerFake("fake/plain", Rate, nil, nil)
	registerFake("fake/bytes", Throughput, nil, nil)
	registerFake("fake/latency", Latency, nil, running(func(n int, samples []time.Duration) error {
		for i := range samples { // descending, so that sorting matters
			samples[i] = time.Duration(n-i) * time.Microsecond
		}
		time.Sleep(time.Duration(n) * time.Microsecond)
		return nil
	}))
	registerFake("fake/allocates", Rate, nil, running(func(n int, _ []time.Duration) error {
		for range 3 * n {
			keep = make([]byte, 16)
		}
		return nil
	}))
	registerFake("fake/works", Rate, nil, running(func(n int, _ []time.Duration) error {
		for end := time.Now().Add(time.Duration(n) * time.Millisecond); time.Now().Before(end); {
		}
		return nil
	}))

	registerFake("fake/listen fails", Rate, failing("no listening today"), nil)
	registerFake("fake/dial fails", Rate, nil, failing("no dialing today"))
	registerFake("fake/run fails", Rate, nil, running(func(int, []time.Duration) error {
		return errors.New("no running today")
	}))
	registerFake("fake/server close fails", Rate, closing("no end of serving"), nil)
	registerFake("fake/client close fails", Rate, nil, closing("no end of calling"))
	registerFake("fake/exits", Rate, nil, running(func(int, []time.Duration) error {
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
		return nil
	}))
	registerFake("fake/panics", Rate, func(Sockets, string) (fakeEnd, error) { panic("deliberately") }, nil)
	registerFake("fake/hangs", Rate, nil, running(hang))
	registerFake("fake/prints", Rate, nil, running(func(int, []time.Duration) error {
		fmt.Println("not a reply")
		time.Sleep(time.Millisecond)
		return nil
	}))

	// The server's address describes its process; the client's error describes the client's.
	registerFake("fake/process", Rate,
		func(Sockets, string) (fakeEnd, error) { return fakeEnd{addr: describeProcess()}, nil },
		running(func(int, []time.Duration) error { return errors.New(describeProcess()) }))
	// Reports the address that the client gets.
	registerFake("fake/address", Rate,
		func(s Sockets, _ string) (fakeEnd, error) { return fakeEnd{addr: "somewhere " + s.Congestion}, nil },
		func(s Sockets, addr string) (fakeEnd, error) {
			return fakeEnd{}, fmt.Errorf("dialed %q with %q", addr, s.Congestion)
		})
	// Both ends keep a connection to reportVariable open, and hang when they run.
	registerFake("fake/watched", Rate, watched, watched)
}

func hang(int, []time.Duration) error {
	<-make(chan int)
	return nil
}

func describeProcess() string {
	return fmt.Sprintf("GOMAXPROCS=%d Cpus_allowed_list=%s", runtime.GOMAXPROCS(0), allowedList())
}

func watched(Sockets, string) (fakeEnd, error) {
	c, err := net.Dial("tcp", os.Getenv(reportVariable))
	if err != nil {
		return fakeEnd{}, err
	}
	return fakeEnd{run: func(int, []time.Duration) error {
		defer c.Close()
		return hang(0, nil)
	}}, nil
}
