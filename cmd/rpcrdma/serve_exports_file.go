package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/exports"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// hostSystem is the system of this host.
const hostSystem = runtime.GOOS

// lookupTime bounds the look-ups of names of hosts in a file.
const lookupTime = 10 * time.Second

// read returns what the command line and the file of --exports say.
func (c *serveConfig) read(ctx context.Context) ([]export, error) {
	all := make([]export, 0, len(c.exports))
	names := make(map[string]bool)
	for _, e := range c.exports {
		e.rules = []nfsserver.Rule{c.rule()}
		all = append(all, e)
		names[e.name] = true
	}
	if c.exportsFile == "" {
		return all, nil
	}
	wrap := func(err error) error { return fmt.Errorf("--exports %s: %w", printable(c.exportsFile), err) }
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
		e := export{name: x.Path, dir: x.Path, mountPoint: x.MountPoint, crossMnt: x.CrossMnt}
		if x.Memory {
			e.dir = ""
		}
		if names[e.name] {
			return nil, wrap(&exports.Error{Line: x.Line,
				Err: fmt.Errorf("%s is exported by the command line", printable(e.name))})
		}
		if e.rules, err = x.Rules(ctx, net.DefaultResolver); err != nil {
			return nil, wrap(err)
		}
		all = append(all, e)
	}
	return all, nil
}

// checkExports reads what is to be exported, and tells it.
func checkExports(ctx context.Context, cfg *serveConfig, out io.Writer) error {
	all, err := cfg.read(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%s (%s)\n", printable(e.name), cfg.describe(e, os.Geteuid()))
		switch {
		case e.dir == "":
		case !e.there():
			b.WriteString("    is not there: it is exported when it is\n")
		default:
			err = errors.Join(err, checkDirectory(e.dir, hostSystem))
		}
	}
	if _, werr := io.WriteString(out, b.String()); werr != nil {
		return werr
	}
	return err
}
