package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

func newServe() *cobra.Command {
	o := bench.ServerOptions{}
	listen, memory, congestion, child := fmt.Sprintf(":%d", benchPort), cli.Size(1<<30), systemCongestion, false
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Be what bench measures, for another host",
		Long: `Serve answers rpcrdma bench on other hosts, until it is interrupted. It takes five TCP ports in
a row: for RPC over TCP, for iWARP with inline sizes as they are by default and with large ones, for
iWARP in the draft's dialect, and for raw TCP. With --roce it takes UDP port 4791, too, for RoCE at
the three ports of iWARP.

It does not ask who its callers are: whoever reaches it can use CPU, network, and memory up to
--memory. So run it on networks that you trust, and no longer than you measure.`,
		Example: `  rpcrdma bench serve
  rpcrdma bench serve --listen 192.0.2.1:20051`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Listen, err = ListenAddress(listen); err != nil {
				return cli.UsageError{Err: err}
			}
			o.Memory, o.Sockets = int64(memory), sockets(congestion)
			if err := o.Sockets.Check(); err != nil {
				return cli.UsageError{Err: fmt.Errorf("--congestion: %w", err)}
			}
			o.Trace = reach.TraceOf(cmd.Context())
			o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
			if child {
				// A signal is the parent's business, who has had it too, and ends this in order.
				return bench.ServeChild(context.WithoutCancel(cmd.Context()), o, host.Stdin(), cmd.OutOrStdout())
			}
			err = bench.Serve(cmd.Context(), o, func(addr string) {
				fmt.Fprintf(cmd.OutOrStdout(), "bench server on %s; on another host:\n\n  rpcrdma bench --server %s\n", addr, benchServerName(addr))
			})
			if err != nil {
				return ListenFailed(listen, err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", listen, "`HOST[:PORT]` or :PORT, the first of five ports; with port 0 any")
	f.StringVar(&congestion, "congestion", congestion, "TCP congestion control, by `NAME`; system: as it is")
	f.Var(&memory, "memory", "most memory that calls take")
	f.BoolVar(&o.RoCE, "roce", false, "answer over RoCE, too: bench --paths roce")
	f.BoolVar(&child, "child", false, "tell the address, and end with the standard input")
	_ = f.MarkHidden("child") // the flag exists
	return cmd
}

// benchServerName is how clients name a server that listens on addr, as far as it can be known
// here.
func benchServerName(addr string) string {
	name, port, err := net.SplitHostPort(addr)
	if err != nil || net.ParseIP(name).IsUnspecified() {
		name = "HOST"
	}
	return strings.TrimSuffix(net.JoinHostPort(name, port), fmt.Sprintf(":%d", benchPort))
}
