package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/exports"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// hostSystem is the system of this host.
const hostSystem = runtime.GOOS

// lookupTime bounds the look-ups of all host names in a file.
const lookupTime = 10 * time.Second

// read returns the exports of the command line and of the file of --exports.
func (c *Config) read(ctx context.Context) ([]Export, error) {
	all := make([]Export, 0, len(c.Exports))
	names := make(map[string]bool)
	for _, e := range c.Exports {
		e.Rules = []nfsserver.Rule{c.Rule()}
		all = append(all, e)
		names[e.Name] = true
	}
	if c.exportsFile == "" {
		return all, nil
	}
	wrap := func(err error) error { return fmt.Errorf("--exports %s: %w", cli.Printable(c.exportsFile), err) }
	f, err := os.Open(c.exportsFile)
	if err != nil {
		return nil, wrap(errors.Unwrap(err))
	}
	defer f.Close()
	list, err := exports.Parse(f)
	if err != nil {
		return nil, wrap(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	for _, x := range list {
		e := Export{Name: x.Path, Dir: x.Path, mountPoint: x.MountPoint, crossMnt: x.CrossMnt,
			warnings: x.Warnings}
		if x.Memory {
			e.Dir = ""
		}
		if names[e.Name] {
			return nil, wrap(&exports.Error{Line: x.Line,
				Err: fmt.Errorf("the command line exports %s as well", cli.Printable(e.Name))})
		}
		if e.Rules, err = x.Rules(ctx, net.DefaultResolver); err != nil {
			return nil, wrap(err)
		}
		c.secureByDefault(e.Rules)
		all = append(all, e)
	}
	return all, nil
}

// warnOf logs the warnings of the file of --exports.
func (c *Config) warnOf(all []Export, log *slog.Logger) {
	for _, e := range all {
		for _, w := range e.warnings {
			log.Warn("a line of the exports file may not mean what it says", "file", c.exportsFile,
				"line", w.Line, "export", e.Name, "warning", w.Text)
		}
	}
}

// checkExports is --check: it prints what would be exported, or what is wrong.
func checkExports(ctx context.Context, cfg *Config, out io.Writer) error {
	all, err := cfg.read(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range all {
		cfg.describeClients(&b, e, os.Geteuid())
		for _, w := range e.warnings {
			fmt.Fprintf(&b, "    warning: %v\n", w)
		}
		if slices.ContainsFunc(e.Rules, func(r nfsserver.Rule) bool { return r.Privileged }) {
			b.WriteString("    clients of Linux over RDMA, and all clients over RoCE and SCTP, " +
				"need the option insecure\n")
		}
		switch {
		case e.Dir == "":
		case !e.there():
			b.WriteString("    does not exist yet: it is exported when it does\n")
		default:
			err = errors.Join(err, checkDirectory(e.Dir, hostSystem))
		}
	}
	service, noService := cfg.openService(all, slog.New(slog.DiscardHandler))
	if noService != nil {
		err = errors.Join(err, noService)
	} else {
		err = errors.Join(err, cfg.checkMap())
	}
	service.describe(&b, cfg, all)
	if _, werr := io.WriteString(out, b.String()); werr != nil {
		return werr
	}
	return err
}
