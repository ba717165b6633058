package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func main() {
	paired.Main() // does not return in a child
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// command runs the command, and returns its exit code.
func command(ctx context.Context, args []string) int {
	f, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if done, code := isolate(ctx); done {
		return code
	}
	err = f.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
	}
	return exitCode(err)
}

// exitCode returns the exit code for an error of run.
func exitCode(err error) int {
	switch {
	case errors.Is(err, errInterrupted):
		return 128 + 2 // the exit code of shells for SIGINT
	case err != nil:
		return 1
	}
	return 0
}
