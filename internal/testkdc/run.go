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

// Env returns the environment variables by which MIT's programs find the realm.
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

// Command returns a command that finds the realm. It also looks for the program in the directories
// for system administration. Later entries of its Env override earlier ones.
func (k *KDC) Command(name string, arg ...string) *exec.Cmd {
	cmd := exec.Command(find(name), arg...)
	cmd.Env = append(os.Environ(), k.Env()...)
	return cmd
}

// Shifted is like Command, with the command's clock ahead by a duration, which may be negative. It
// needs Debian's faketime.
func (k *KDC) Shifted(by time.Duration, name string, arg ...string) *exec.Cmd {
	if by == 0 {
		return k.Command(name, arg...)
	}
	shift := fmt.Sprintf("%+ds", int(by.Seconds()))
	cmd := k.Command("faketime", append([]string{"-f", shift, find(name)}, arg...)...)
	// Signals reach the program itself, because faketime replaces itself by it.
	return cmd
}

// Run runs a command that finds the realm, and returns all output.
func (k *KDC) Run(name string, arg ...string) (string, error) {
	return Output(k.Command(name, arg...), "")
}

// Output runs a command with an input, and returns all output.
func Output(cmd *exec.Cmd, input string) (string, error) {
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	// Child processes may outlive the command with its output open.
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

// Kinit gets a ticket-granting ticket for a principal with its password, and returns the path of
// the credential cache. Further arguments go to MIT's kinit, such as "-l", "5m".
func (k *KDC) Kinit(name, password string, arg ...string) (string, error) {
	path := k.File("ccache")
	_, err := Output(k.Command("kinit", append(arg, "-c", "FILE:"+path, name)...), password+"\n")
	return path, err
}

// KinitKeytab is Kinit with a keytab in place of a password.
func (k *KDC) KinitKeytab(name, keytab string, arg ...string) (string, error) {
	path := k.File("ccache")
	arg = append(arg, "-c", "FILE:"+path, "-k", "-t", "FILE:"+keytab, name)
	_, err := k.Run("kinit", arg...)
	return path, err
}

// find finds a program, also in the directories for system administration.
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
