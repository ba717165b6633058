package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// ganeshaCommand is from Debian's nfs-ganesha-vfs.
const ganeshaCommand = "ganesha.nfsd"

// startLimit is how long a daemon may take to accept connections.
const startLimit = 20 * time.Second

const ganeshaConfig = `
NFS_CORE_PARAM { Protocols = 3; NFS_Port = %d; MNT_Port = %d; Enable_NLM = false; Enable_RQUOTA = false; }
EXPORT {
	Export_Id = 1; Path = %s; Pseudo = /export; Access_Type = RW; Squash = None;
	Protocols = 3; Transports = TCP; SecType = sys;
	FSAL { Name = VFS; }
}
`

// missingGanesha says why Ganesha cannot run.
func missingGanesha(string) error {
	if _, err := exec.LookPath(ganeshaCommand); err != nil {
		return errors.New(ganeshaCommand + " is not installed (apt-get install nfs-ganesha-vfs rpcbind)")
	}
	return isolated()
}

// ganeshaServer is a running NFS-Ganesha.
type ganeshaServer struct {
	*daemon
	location location
	dir      string
}

func listenGanesha(_ context.Context, _ paired.Sockets, w workload) (paired.Server, error) {
	dir, err := os.MkdirTemp(scratch, "ganesha")
	if err != nil {
		return nil, err
	}
	g := &ganeshaServer{dir: dir}
	if err := g.start(w); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return g, nil
}

func (g *ganeshaServer) start(w workload) error {
	export := filepath.Join(g.dir, "export")
	if err := fillDirectory(export, w); err != nil {
		return err
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	g.location = location{"127.0.0.1", ports[0], ports[1], export}
	conf, log := filepath.Join(g.dir, "conf"), filepath.Join(g.dir, "log")
	text := fmt.Sprintf(ganeshaConfig, ports[0], ports[1], export)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return err
	}
	g.daemon, err = startDaemon(g.location.nfsAddr(), ganeshaCommand,
		"-F", "-L", log, "-p", filepath.Join(g.dir, "pid"), "-f", conf)
	if err != nil {
		said, _ := os.ReadFile(log) // may not exist
		return fmt.Errorf("%w\n%s", err, last(string(said), 10))
	}
	return nil
}

// fillDirectory makes an export for w.
func fillDirectory(export string, w workload) error {
	if w.op != opList {
		data := make([]byte, fileSize)
		content(data, 0)
		if err := os.Mkdir(export, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(export, fileName), data, 0o600)
	}
	dir := filepath.Join(export, dirName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range w.size {
		if err := os.WriteFile(filepath.Join(dir, entryName(i)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// last returns the last n lines of s.
func last(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (g *ganeshaServer) Addr() string { return g.location.String() }

// Close stops Ganesha.
func (g *ganeshaServer) Close() error {
	return errors.Join(g.stop(), os.RemoveAll(g.dir))
}

// freePorts returns TCP ports that are free now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", localhost)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
