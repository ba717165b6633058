// Command rping pings over software iWARP, in the protocol of librdmacm's rping: its peer is that,
// on any iWARP adapter or Linux's siw, or another one of itself.
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
