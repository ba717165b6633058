//go:build interop

package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// knfsdRealmScript has the kernel export one directory to all authenticated users, and one only for
// krb5p.
//
//nolint:misspell // exportfs is a program
const knfsdRealmScript = `
set -e
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
mkdir /secret
mount -t tmpfs tmpfs /secret
chmod 1777 /export /secret
options=rw,no_subtree_check,insecure
exportfs -o $options,sec=krb5:krb5i:krb5p,fsid=1 '*:/export'
exportfs -o $options,sec=krb5p,fsid=2 '*:/secret'
rpc.mountd -N 4 -p 20048
rpc.svcgssd -f -n -vv >/host/svcgssd 2>&1 &
` + knfsdStart

// knfsd uses our commands with the kernel's server.
func (r *realm) knfsd(t *testing.T, k *knfsd) {
	k.sh[0].run(t, knfsdRealmScript)
	data := random(t, 700_003)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"tcp", "rdma", "rdma+roce"} {
		url := func(path, sec string) string {
			at := fmt.Sprintf("%s:%d", cardName, rdmaPort)
			switch scheme {
			case "tcp":
				at = fmt.Sprintf("%s:%d", knfsdName, k.TCP)
			case "rdma":
				at = fmt.Sprintf("%s:%d", knfsdName, k.RDMA)
			}
			mount := k.Mount
			if scheme == "rdma+roce" {
				mount = mountPort
			}
			return fmt.Sprintf("%s://%s%s?mountport=%d%s", scheme, at, path, mount, sec)
		}
		for _, sec := range protections {
			t.Run(scheme+"/"+sec, func(t *testing.T) {
				name := fmt.Sprintf("%s/%s-%s", open, strings.TrimPrefix(scheme, "rdma+"), sec)
				r.do(t, "put", "-q", file, url(name, "&sec="+sec))
				k.checkSum(t, name, data)
				k.guestSays(t, fmt.Sprint(alice), "stat -c %u "+name)
				back := filepath.Join(t.TempDir(), "back")
				r.do(t, "get", "-q", url(name, "&sec="+sec), back)
				checkFile(t, back, data)
				if got := r.do(t, "ls", url(open, "&sec="+sec)); !strings.Contains(got, filepath.Base(name)+"\n") {
					t.Errorf("ls prints %q, without %s", got, filepath.Base(name))
				}
			})
		}
		t.Run(scheme+"/found", func(t *testing.T) {
			r.do(t, "mkdir", url("/secret/"+strings.ReplaceAll(scheme, "+", "-"), ""))
			if got := r.run(t, r.cache, "ls", url("/secret", "&sec=krb5i")); got.code == 0 {
				t.Errorf("ls with krb5i of what is for krb5p prints %q", got.stdout)
			}
			if got := r.run(t, r.File("none"), "ls", url("/secret", "")); got.code == 0 || got.stderr == "" {
				t.Errorf("ls without a ticket: exit %d, %q", got.code, got.stderr)
			}
		})
	}
}

// do runs a command as alice, who has a ticket. It must succeed without messages.
func (r *realm) do(t *testing.T, args ...string) string {
	t.Helper()
	got := r.run(t, r.cache, args...)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("rpcrdma %q: exit %d\n%s", args, got.code, got.stderr)
	}
	return got.stdout
}

// run runs a command with the tickets of a credential cache.
func (r *realm) run(t *testing.T, cache string, args ...string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), r.command, args...)
	cmd.Env = append(os.Environ(), "KRB5CCNAME=FILE:"+cache)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
