package reach

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// TraceEnv is the environment variable that names the file of a trace, as --trace does.
const TraceEnv = "RPCRDMA_TRACE"

// TraceMost is the largest size of a trace, in bytes.
var TraceMost int64 = trace.DefaultMax

// Traced adds the flag --trace to commands, which writes all that they send and receive to a file.
func Traced(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		path := f.String("trace", "", fmt.Sprintf("`FILE` to write all that is sent and received to, as "+
			"pcap for Wireshark, %d MiB at most; default the FILE that %s in the environment names",
			trace.DefaultMax>>20, TraceEnv))
		if cli.HasConnectionFlags(c) {
			cli.AddConnectionFlags(c, f)
		} else {
			c.Flags().AddFlagSet(f)
		}
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) (err error) {
			if !cmd.Flags().Changed("trace") {
				*path = os.Getenv(TraceEnv)
			}
			if *path == "" {
				return run(cmd, args)
			}
			end, err := startTrace(cmd, *path)
			if err != nil {
				return err
			}
			defer func() {
				if failed := end(); err == nil {
					err = failed
				}
			}()
			return run(cmd, args)
		}
	}
	return commands
}

// startTrace traces the connections of a command, until end is called.
func startTrace(cmd *cobra.Command, path string) (end func() error, err error) {
	// Only the owner may read it: it contains the data of files.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	ended := func(err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "rpcrdma: --trace %s ends here: %v\n",
			cli.Printable(path), err)
	}
	w, err := trace.New(file, trace.Config{Max: TraceMost, Ended: ended})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("--trace %s: %w", cli.Printable(path), err)
	}
	cmd.SetContext(WithTrace(cmd.Context(), w))
	return func() error {
		CloseSCTP() // which still sends
		w.Close()
		if err := file.Close(); err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		return nil
	}, nil
}

// traceKey is the key of a context's *trace.Writer.
type traceKey struct{}

// WithTrace returns a context with which connections are traced by w, if that is not nil.
func WithTrace(ctx context.Context, w *trace.Writer) context.Context {
	return context.WithValue(ctx, traceKey{}, w)
}

// TraceOf returns the trace of a context, or nil.
func TraceOf(ctx context.Context) *trace.Writer {
	w, _ := ctx.Value(traceKey{}).(*trace.Writer)
	return w
}

// Datagrams returns the function that traces UDP packets, or nil.
func Datagrams(w *trace.Writer) func(local, remote netip.AddrPort, sent bool, packet []byte) {
	if w == nil {
		return nil
	}
	return w.Datagram
}
