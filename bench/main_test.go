package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// roceVariable names the environment variable with the server's RoCE address.
const roceVariable = "BENCH_TEST_ROCE"

// childVariable makes this binary a child process instead of a test: a server, one that cannot
// listen, or the parent of a server.
const childVariable = "BENCH_TEST_CHILD"

var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	o := ServerOptions{Listen: "127.0.0.1:0", Sockets: host.Sockets{Congestion: host.DefaultCongestion}, Logger: quiet}
	if at := os.Getenv(roceVariable); at != "" {
		o.Listen, o.RoCE = at, true
	}
	switch os.Getenv(childVariable) {
	case "":
		// In children, the race detector otherwise sleeps for a second at exit.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
		goleak.VerifyTestMain(m)
		return
	case "broken":
		o.Listen = "127.0.0.1:nowhere"
		fallthrough
	case "server":
		if err := ServeChild(context.Background(), o, host.Stdin(), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "parent":
		os.Setenv(childVariable, "server")
		_, addr, err := startChild(context.Background(), self(), nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(addr)
		select {}
	}
	os.Exit(0)
}

// self is the command line of this binary.
func self() []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{path}
}
