package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/bench"
	"github.com/rpcrdma/go-rpcrdma/bench/report"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// NewCommand returns the command bench.
func NewCommand() *cobra.Command {
	cfg := NewConfig()
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Compare inline with chunked transfer, and with RPC over TCP",
		Long: `Bench measures how fast calls are when their payload travels inline, in one Send, and when it
travels by chunk, moved by RDMA on its own. It finds the size from which chunks are faster, and
the settings that suit this path. It also measures RPC over TCP, raw TCP, and copies in memory,
to compare.

Bench starts a server in another process, on CPUs of its own, and reaches it over 127.0.0.1;
only with the provider loopback are both ends in one process. To measure a network, run rpcrdma
bench serve on another host, and name that host with --server. RoCE is measured only with
--paths roce; on another host, the server needs --roce.

By default bench measures the quick grid: about 40 points in 40 seconds. The full grid has some
2,000 points, all combinations, and takes 10 minutes. With less --time, or on a slow machine,
bench leaves out points, such that the others still cover the grid, and says which and why. In
10 minutes, only the path iwarp gets enough rounds for advice: name another path with --paths,
or give bench half an hour.

--paths, --ways, --sizes, --in-flight and --conns make another grid. Those that are not given
default to the path iwarp, all ways, all sizes of the full grid, 8 calls in flight, and 1
connection.

Bench measures points in rounds, in random order, and gives the most rounds to those that tell
where chunks become faster. A round is disturbed if other processes used 15 % of the CPUs, or if
raw TCP was twice as fast or slow as usual. Disturbed rounds are marked and do not count; bench
repeats them while there is time.

Each advice comes with its confidence interval of 95 %. There is no advice if the interval is
wider than one step between sizes, or if too few rounds were undisturbed. The advice is for
--inline of serve, gateway and the commands on files, and in Go for InlineSend, InlineRecv and
MinChunk of rpcrdma.Config.

The ways are:

  inline-call         client to server, in the Send of the call
  padded-call         the same, aligned at the server (RDMA_MSGP, of the draft's dialect)
  read-chunk          client to server, read by the server
  position-zero-call  client to server, the whole call read by the server
  inline-reply        server to client, in the Send of the reply
  write-chunk         server to client, written to the client's memory
  reply-chunk         server to client, the whole reply written to the client's memory

MB and GB are 10^6 and 10^9 bytes, KiB and MiB 2^10 and 2^20. The ratio to raw divides the
throughput by that of raw TCP, measured right before, which writes as much at a time and waits
for no answer; over loopback, by that of copies in memory. Single calls of less than 64 KiB have
no ratio: compare their latency with a round trip of raw TCP. Differences of less than 10 %
count as noise.

With --out, bench writes the figures as CSV and JSON, and charts as PNG and as one page of HTML.
An interrupt ends the measurement: bench shows what it has measured so far, and exits with 130.`,
		Example: `  rpcrdma bench
  rpcrdma bench --full --out /tmp/bench
  rpcrdma bench --ways read-chunk,inline-call --sizes 1KiB,4KiB,16KiB --in-flight 1,64

  # Between two hosts
  server$ rpcrdma bench serve
  client$ rpcrdma bench --server server`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := cfg.Options(cmd.Flags().Changed)
			if err == nil {
				err = checkHere(&o)
			}
			if err != nil {
				return cli.UsageError{Err: err}
			}
			o.Trace = reach.TraceOf(cmd.Context())
			return runBench(cmd.Context(), cfg, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cfg.AddFlags(cmd)
	cmd.AddCommand(reach.Traced(newServe())...)
	for _, c := range cmd.Commands() {
		c.Flags().SortFlags = false
		remote.CompleteFlags(c)
	}
	return cmd
}

// noArguments is for commands that take only flags.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usagef("unknown argument %q", args[0])
	}
	return nil
}

// runBench measures, and prints the result.
func runBench(ctx context.Context, cfg *Config, o bench.Options, stdout, stderr io.Writer) error {
	if cfg.out != "" { // before ten minutes have passed
		if err := os.MkdirAll(cfg.out, 0o777); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	bar := newBar(stderr, o.Time)
	o.Progress = bar.progress
	o.Logger = slog.New(slog.NewTextHandler(bar, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r, err := bench.Run(ctx, o)
	bar.end()
	if r == nil {
		return Explain(o, err)
	}
	bench.Conclude(r)
	failed := report.WriteTable(stdout, r)
	if cfg.out != "" {
		files, e := report.WriteDir(cfg.out, r)
		for _, name := range files {
			fmt.Fprintln(stderr, "rpcrdma: wrote", name)
		}
		failed = errors.Join(failed, e)
	}
	if err == nil {
		return failed
	}
	return errors.Join(Explain(o, err), failed)
}

// Explain adds to an error what to do about it.
func Explain(o bench.Options, err error) error {
	var (
		lost   *bench.LostError
		memory *bench.MemoryError
	)
	switch {
	case errors.Is(err, context.Canceled) && !errors.As(err, &lost):
		return err
	case errors.As(err, &lost):
		e := *lost
		if !errors.Is(err, bench.ErrSilent) {
			e.Err = errors.New(words.EndReason(e.Err))
		}
		return errors.New(strings.TrimPrefix(e.Error(), "bench: "))
	case errors.As(err, &memory):
		z, least := cli.Size(memory.Memory), bench.FormatSize(int(memory.Least))
		if memory.Server {
			return fmt.Errorf("the server has --memory %v, but the smallest point needs %s", &z, least)
		}
		return cli.Usagef("--memory %v: the smallest point needs %s", &z, least)
	case o.Server != "" && errors.Is(err, words.ConnRefused):
		return fmt.Errorf("nothing listens at %s: run rpcrdma bench serve there", o.Server)
	case o.Server != "" && (errors.Is(err, roce.ErrPeerTimeout) || errors.Is(err, roce.ErrRefused)):
		return fmt.Errorf("nobody answers at %s over RoCE: run rpcrdma bench serve --roce there", o.Server)
	case o.Server != "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)):
		return fmt.Errorf("no answer from %s: is the host up, and is a firewall in between? A server takes five "+
			"ports in a row", o.Server)
	}
	return err
}

// QuickTime and FullTime are how long these grids take. With what comes before and after, quick
// ends within 45 seconds.
const (
	QuickTime = 36 * time.Second
	FullTime  = 10 * time.Minute
)
