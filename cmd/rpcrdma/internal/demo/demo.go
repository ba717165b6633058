package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// NewCommand returns the command demo.
func NewCommand() *cobra.Command {
	var providerName, dialectName string
	cmd := &cobra.Command{
		Use:   "demo [FILE...]",
		Short: "Copy files through an NFS server and client in one process",
		Long: `Demo starts an NFSv3 server with a file system in memory and a client, both in this process, and
connects them by RPC-over-RDMA. It copies the files to the server, lists them, copies them back
and compares their SHA-256. Then it prints how the bytes of each procedure travelled. Without
FILE it copies this program itself.

The connection is iWARP on 127.0.0.1. With --provider it is iWARP on SCTP, or RoCE, on an
address of the loopback interface, or, with loopback, no network at all.

FILE is a regular file, or a link to one. Demo holds all files in memory at the same time. If
two have the same name, the second becomes name.2 on the server.

The table counts the bytes of RPC messages in each direction: inline, in a Send, and by chunk.
Under credits it has the most calls that were under way at a time. The times include reading the
files from disk, and SHA-256, both ways. docs/concepts.md explains inline, chunks and credits.

With --dialect draft, both ends speak the protocol of draft-ietf-nfsv4-rpcrdma-08, and demo
shows all that it has beyond RFC 8166:

  1. The client agrees with the server on sizes, by CONF_RDMA.
  2. It sends 16 small files, made up for this, in RDMA_MSGP, padded so that their data lands
     aligned.
  3. It gets the first one in a write chunk, which shows round-up, and a list of all of them in a
     reply chunk.
  4. It asks for the address of NFS by its program number (GETADDR), and makes a second connection,
     which offers no chunks for replies: the list and the data come as read chunks, and the client
     answers each with RDMA_DONE.
  5. It asks for 17 MiB at once and reads them slowly. The server has 16 MiB for them, so it
     withholds a reply until it gets an RDMA_DONE.

The first table counts these files, too; the lines up and down do not. It has three more
columns: the bytes of padding, which are not in inline sent; the bytes of replies that came as
read chunks; and the number of these replies, each of which has its RDMA_DONE. The second table
shows what each of the two ends counted of the draft's mechanisms.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			provider, err := reach.FindProvider(providerName)
			if err != nil {
				return err
			}
			dialect, err := rpcrdma.ParseDialect(dialectName)
			if err != nil {
				return cli.UsageError{Err: err}
			}
			files, err := FindFiles(paths)
			if err != nil {
				return err
			}
			return Run(cmd.Context(), provider, dialect, files, cmd.OutOrStdout(), cli.NewBar(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&dialectName, "dialect", rpcrdma.RFC8166.String(),
		"dialect that both ends speak: rfc8166, draft")
	_ = cmd.RegisterFlagCompletionFunc("dialect",
		// the flag exists
		cobra.FixedCompletions([]string{rpcrdma.RFC8166.String(), rpcrdma.Draft.String()},
			cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&providerName, "provider", reach.DefaultProvider, "RDMA provider: "+reach.ProviderNames())
	_ = cmd.RegisterFlagCompletionFunc("provider",
		// the flag exists
		cobra.FixedCompletions(slices.Sorted(maps.Keys(reach.Providers)), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// demo is a demo under way.
type demo struct {
	fs   *nfsfs.FS
	out  io.Writer
	bar  *cli.Bar
	up   throughput
	down throughput
}

// progress is a Writer that counts bytes.
type progress func(n int)

func (p progress) Write(b []byte) (int, error) {
	p(len(b))
	return len(b), nil
}

// throughput is a number of bytes and the time they took.
type throughput struct {
	bytes int64
	took  time.Duration
}

func (t throughput) String() string {
	s := fmt.Sprintf("%d bytes in %v", t.bytes, t.took.Round(time.Microsecond))
	if t.bytes >= 1e6 { // less says nothing about speed
		s += fmt.Sprintf(", %.0f MB/s", float64(t.bytes)/1e6/t.took.Seconds())
	}
	return s
}

// ErrMismatch is returned by Run if a file came back with other contents.
var ErrMismatch = errors.New("what came back is not what was sent")

// Run copies files to a server in this process and back, and prints how the bytes travelled.
func Run(ctx context.Context, p reach.Provider, dialect rpcrdma.Dialect, files []*file, out io.Writer,
	bar *cli.Bar) (err error) {
	server, err := startServer(ctx, p, capacityFor(files), configs[dialect].server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	traffic := newTraffic()
	cfg := configs[dialect].client
	cfg.Observer = traffic
	conn, end, err := dial(ctx, server.dialer, server.addr, cfg)
	if err != nil {
		return err
	}
	defer end()

	d := &demo{out: out, bar: bar}
	if dialect == rpcrdma.Draft {
		if err := d.configure(ctx, conn); err != nil {
			return err
		}
	}
	if d.fs, err = mount(ctx, conn); err != nil {
		return err
	}
	for _, f := range files {
		if err := d.upload(ctx, f); err != nil {
			return fmt.Errorf("upload of %s: %w", cli.Printable(f.path), err)
		}
	}
	if err := d.list(ctx); err != nil {
		return err
	}
	for _, f := range files {
		if err := d.download(ctx, f); err != nil {
			return fmt.Errorf("download of %s: %w", cli.Printable(f.path), err)
		}
	}
	more := &draft{demo: d, server: server, cfg: cfg, traffic: traffic}
	if dialect == rpcrdma.Draft {
		if err := more.run(ctx, conn); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	traffic.print(out, dialect)
	if dialect == rpcrdma.Draft {
		fmt.Fprintln(out)
		more.counted.print(out, traffic.sum())
	}
	fmt.Fprintf(out, "\nup    %v\ndown  %v\n", d.up, d.down)
	return nil
}

// upload copies a file to the server and keeps its hash.
func (d *demo) upload(ctx context.Context, f *file) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	o, err := d.fs.OpenFile(ctx, f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	begin := time.Now()
	d.bar.Begin("up   "+cli.Printable(f.name), f.size)
	n, err := o.ReadFrom(io.TeeReader(r, io.MultiWriter(f.sent, progress(d.bar.Add))))
	err = errors.Join(err, o.Close())
	d.bar.End()
	d.up.bytes += n
	d.up.took += time.Since(begin)
	f.size = n
	return err
}

// list prints the directory of the server.
func (d *demo) list(ctx context.Context) error {
	for e, err := range d.fs.Entries(ctx, "") {
		if err != nil {
			return err
		}
		a := e.Attr()
		fmt.Fprintf(d.out, "-%s %5d %5d %12d %s %s\n", cli.Permissions(a.Mode), a.UID, a.GID, a.Size,
			a.Mtime.Time().Format("2006-01-02 15:04:05"), cli.Printable(e.Name()))
	}
	return nil
}

// download copies a file from the server into a hash.
func (d *demo) download(ctx context.Context, f *file) error {
	o, err := d.fs.Open(ctx, f.name)
	if err != nil {
		return err
	}
	defer o.Close()
	begin := time.Now()
	d.bar.Begin("down "+cli.Printable(f.name), f.size)
	n, err := o.WriteTo(io.MultiWriter(f.Received, progress(d.bar.Add)))
	d.bar.End()
	d.down.bytes += n
	d.down.took += time.Since(begin)
	if err != nil {
		return err
	}
	if n != f.size || !f.same() {
		return fmt.Errorf("%w: %d bytes, SHA-256 %x; sent %d bytes, SHA-256 %x", ErrMismatch, n, f.Received.Sum(nil),
			f.size, f.sent.Sum(nil))
	}
	fmt.Fprintf(d.out, "%x  %s: the same\n", f.sent.Sum(nil), cli.Printable(f.path))
	return nil
}
