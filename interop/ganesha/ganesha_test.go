//go:build interop

package ganesha

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// startLimit is how long a server may take to accept connections.
const startLimit = 30 * time.Second

const config = `
NFS_CORE_PARAM { Protocols = 3; NFS_Port = %d; MNT_Port = %d; Enable_NLM = false; Enable_RQUOTA = false; }
`

const exportConfig = `
EXPORT {
	Export_Id = %d; Path = %s; Pseudo = /data%d; Access_Type = RW; Squash = None; Protocols = 3; Transports = TCP; SecType = sys;
	Attr_Expiration_Time = %d;
	FSAL { Name = VFS; }
}
`

// served is a directory that Ganesha serves.
type served struct {
	dir        string
	expiration int // seconds for which it trusts the attributes that it has read
}

// serveGanesha serves directories with ganesha and returns the addresses of NFS and MOUNT.
func serveGanesha(tb testing.TB, dirs ...served) (nfs, mount string) {
	tb.Helper()
	if _, err := net.Dial("tcp", "127.0.0.1:111"); err != nil {
		run(tb, "127.0.0.1:111", "rpcbind", "-w", "-f") // ganesha registers with it, or ends
	}
	tmp := tb.TempDir()
	ports := freePorts(tb, 2)
	nfs, mount = fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	conf := filepath.Join(tmp, "conf")
	text := fmt.Appendf(nil, config, ports[0], ports[1])
	for i, d := range dirs {
		text = fmt.Appendf(text, exportConfig, i+1, d.dir, i+1, d.expiration)
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	run(tb, nfs, "ganesha.nfsd", "-F", "-L", filepath.Join(tmp, "log"), "-p", filepath.Join(tmp, "pid"), "-f", conf)
	return nfs, mount
}

// run runs a server until the end of the benchmark, and waits until it accepts connections.
func run(tb testing.TB, addr string, name string, args ...string) {
	tb.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		tb.Fatalf("%v; apt-get install rpcbind nfs-ganesha-vfs", err)
	}
	tb.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	for deadline := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s does not accept connections: %v", name, err)
		}
	}
}

// freePorts returns ports that are free now.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
