// Command rping is librdmacm's rping over software iWARP. Its peer is librdmacm's rping on an iWARP
// adapter or on Linux's siw, or another instance of this command.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
