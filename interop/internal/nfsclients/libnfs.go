//go:build interop

package nfsclients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"time"
)

// commandLimit is when a hanging command is killed.
const commandLimit = 30 * time.Second

// libnfsVolume is an export as libnfs's commands see it. Each command mounts it again.
type libnfsVolume struct {
	server Server
	export string
}

func mountLibnfs(s Server, export string) (Volume, error) {
	v := &libnfsVolume{s, export}
	_, err := v.List("")
	return v, err
}

// url returns libnfs's URL of a file.
func (v *libnfsVolume) url(name string) string {
	u := "nfs://" + v.server.Host + path.Join(v.export, name)
	if v.server.NFS != 0 {
		u += fmt.Sprintf("?nfsport=%d&mountport=%d", v.server.NFS, v.server.Mount)
	}
	return u
}

func (v *libnfsVolume) Write(name string, data []byte) error {
	local, err := os.CreateTemp("", "libnfs")
	if err != nil {
		return err
	}
	defer os.Remove(local.Name())
	_, err = local.Write(data)
	if err := local.Close(); err != nil {
		return err
	}
	if err == nil {
		_, err = command("nfs-cp", local.Name(), v.url(name))
	}
	return err
}

func (v *libnfsVolume) Read(name string) ([]byte, error) { return command("nfs-cat", v.url(name)) }

func (v *libnfsVolume) List(dir string) (map[string]int64, error) {
	out, err := command("nfs-ls", v.url(dir))
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			return nil, fmt.Errorf("nfs-ls: %q", line)
		}
		if f[0][0] != '-' {
			continue
		}
		if sizes[f[5]], err = strconv.ParseInt(f[4], 10, 64); err != nil {
			return nil, fmt.Errorf("nfs-ls: %q: %w", line, err)
		}
	}
	return sizes, nil
}

func (v *libnfsVolume) Close() error { return nil }

// command runs a command and returns its output.
func command(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s (apt-get install libnfs-utils): %w\n%s", cmd, err, stderr.String())
	}
	return out, nil
}
