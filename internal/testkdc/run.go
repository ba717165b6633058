package testkdc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Env is the environment in which MIT's programs know the realm.
func (k *KDC) Env() []string {
	return []string{
		"KRB5_CONFIG=" + k.Conf(),
		"KRB5_KDC_PROFILE=" + filepath.Join(k.Dir, "kdc.conf"),
		"KRB5CCNAME=FILE:" + filepath.Join(k.Dir, "ccache"),
		"KRB5_KTNAME=FILE:" + filepath.Join(k.Dir, "keytab"),
		"KRB5RCACHENAME=dfl:",
		"KRB5RCACHEDIR=" + k.Dir,
	}
}

// Command is a command that knows the realm. It is found in the directories for system
// administration, too. What is appended to its Env counts more.
func (k *KDC) Command(name string, arg ...string) *exec.Cmd {
	cmd := exec.Command(find(name), arg...)
	cmd.Env = append(os.Environ(), k.Env()...)
	return cmd
}

// Shifted is a command whose clock goes ahead by some time, or behind. It takes Debian's faketime.
func (k *KDC) Shifted(by time.Duration, name string, arg ...string) *exec.Cmd {
	if by == 0 {
		return k.Command(name, arg...)
	}
	shift := fmt.Sprintf("%+ds", int(by.Seconds()))
	cmd := k.Command("faketime", append([]string{"-f", shift, find(name)}, arg...)...)
	// Signals must reach the program itself: faketime replaces itself by it.
	return cmd
}

// Run runs a command that knows the realm to its end. It returns all that it has printed.
func (k *KDC) Run(name string, arg ...string) (string, error) {
	return Output(k.Command(name, arg...), "")
}

// Output runs a command to its end, with an input, and returns all that it has printed.
func Output(cmd *exec.Cmd, input string) (string, error) {
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	// What it has started may outlive it, with its output open.
	cmd.WaitDelay = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	if err := cmd.Wait(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &out)
	}
	return out.String(), nil
}

// Kinit gets a ticket-granting ticket for a principal by its password. It returns the path of the
// credential cache. Further arguments are those of MIT's kinit, such as "-l", "5m".
func (k *KDC) Kinit(name, password string, arg ...string) (string, error) {
	path := k.File("ccache")
	_, err := Output(k.Command("kinit", append(arg, "-c", "FILE:"+path, name)...), password+"\n")
	return path, err
}

// KinitKeytab is Kinit by a keytab.
func (k *KDC) KinitKeytab(name, keytab string, arg ...string) (string, error) {
	path := k.File("ccache")
	arg = append(arg, "-c", "FILE:"+path, "-k", "-t", "FILE:"+keytab, name)
	_, err := k.Run("kinit", arg...)
	return path, err
}

// find finds a program also in the directories for system administration.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return name
}
