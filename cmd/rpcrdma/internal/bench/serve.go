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
		Short: "Run the server that bench on another host measures",
		Long: `Serve is the server that rpcrdma bench on another host measures. It runs until it is
interrupted. It takes five TCP ports in a row: for RPC over TCP, for iWARP with the default
inline sizes and with large ones, for iWARP in the draft's dialect, and for raw TCP. With --roce
it also takes UDP port 4791, for RoCE at the three ports of iWARP.

It does not ask who its callers are: whoever reaches it can use CPU, network, and memory up to
--memory. Run it only on networks that you trust, and only while you measure.`,
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
				// The parent gets the same signal, and ends this process in order.
				return bench.ServeChild(context.WithoutCancel(cmd.Context()), o, host.Stdin(), cmd.OutOrStdout())
			}
			err = bench.Serve(cmd.Context(), o, func(addr string) {
				fmt.Fprintf(cmd.OutOrStdout(),
					"bench server on %s; on another host:\n\n  rpcrdma bench --server %s\n", addr,
					benchServerName(addr))
			})
			if err != nil {
				return ListenFailed(listen, err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", listen, "`HOST[:PORT]` or :PORT of the first of five ports; port 0 picks free ones")
	f.StringVar(&congestion, "congestion", congestion,
		"`NAME` of the TCP congestion control; system leaves it as it is")
	f.Var(&memory, "memory", "most memory for calls")
	f.BoolVar(&o.RoCE, "roce", false, "answer over RoCE, too, for bench --paths roce")
	f.BoolVar(&child, "child", false, "tell the address, and end with the standard input")
	_ = f.MarkHidden("child") // the flag exists
	return cmd
}

// benchServerName is how clients name a server that listens on addr. HOST stands for an unknown
// name.
func benchServerName(addr string) string {
	name, port, err := net.SplitHostPort(addr)
	if err != nil || net.ParseIP(name).IsUnspecified() {
		name = "HOST"
	}
	return strings.TrimSuffix(net.JoinHostPort(name, port), fmt.Sprintf(":%d", benchPort))
}
