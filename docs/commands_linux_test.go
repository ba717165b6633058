package docs_test

import (
	"archive/zip"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/mdblocks"
)

//go:embed testdata/commands.sh
var commandsScript string

// runByCI are commands that CI runs itself, and the lines of .ci/steps or other scripts that do.
var runByCI = map[string]struct{ file, line string }{
	"go test ./...": {".ci/steps", `(?m)^\tgo test .*\\\n.* \./\.\.\.$`},
}

var (
	// serves recognizes commands that go on until they are ended, unless ends does.
	serves = regexp.MustCompile(`^rpcrdma (serve|gateway|ping|bench serve)\b`)
	ends   = regexp.MustCompile(` --(check|count|help)\b`)
)

// TestCommands runs each command of the documents as it is printed, from the top of a document to
// its end, in a copy of the repository.
func TestCommands(t *testing.T) {
	box := newSandbox(t)
	if out, err := box.run(t, "setup\n"); err != nil {
		if os.Getuid() != 0 {
			t.Skipf("needs root, or namespaces for users: %v\n%s", err, out)
		}
		t.Fatalf("cannot make namespaces, which takes bash, mount and ip: %v\n%s", err, out)
	}
	for _, bad := range []string{
		"run here 0 false", "run here 1 true", "start here serve 'rpcrdma serve'", "accept here 'x = 1'",
	} {
		if out, err := box.run(t, "setup\n"+bad+"\n"); err == nil {
			t.Errorf("%s: no error\n%s", bad, out)
		}
	}
	scripts := make(map[string]string)
	for _, b := range readBlocks(t, "sh", "toml") {
		scripts[b.File] += script(t, b)
	}
	for file, script := range scripts {
		t.Run(file, func(t *testing.T) {
			if out, err := box.run(t, "setup\n"+script+"end_all\n"); err != nil {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out)
			}
		})
	}
}

// script returns the calls of testdata/commands.sh that run a block.
func script(t *testing.T, b mdblocks.Block) string {
	if b.Info == "toml" {
		return fmt.Sprintf("accept %v %s\n", b, quote(b.Text))
	}
	var s strings.Builder
	for _, c := range b.Commands() {
		where := fmt.Sprintf("%s:%d", b.File, c.Line)
		text, _, _ := strings.Cut(c.Text, " #")
		text = strings.TrimSpace(text)
		if by, ok := runByCI[text]; ok {
			steps, err := os.ReadFile("../" + by.file)
			if err != nil || !regexp.MustCompile(by.line).Match(steps) {
				t.Errorf("%s: %s does not run %q, or not in this way: %v", where, by.file, text, err)
			}
			continue
		}
		if kind := serves.FindStringSubmatch(text); kind != nil && !ends.MatchString(text) {
			fmt.Fprintf(&s, "start %s %s %s\n", where, strings.ReplaceAll(kind[1], " ", "-"), quote(c.Text))
			continue
		}
		fmt.Fprintf(&s, "run %s %s %s\n", where, c.Exit, quote(c.Text))
	}
	return s.String()
}

// quote quotes a word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// sandbox is where commands are run: a copy of the repository, and a module proxy that has it as
// the latest version.
type sandbox struct {
	dir string
	env []string
}

// sandboxVersion is the version that the proxy has.
const sandboxVersion = "v0.0.1"

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	box := &sandbox{dir: t.TempDir()}
	at := func(name string) string { return filepath.Join(box.dir, name) }
	for _, name := range []string{"bin", "home", "mounts", "modules"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	box.copyRepository(t)
	goEnv := func(name string) string { return strings.TrimSpace(output(t, "go", "env", name)) }
	box.env = append(os.Environ(), "SANDBOX="+box.dir, "HOME="+at("home"), "PATH="+at("bin")+":"+os.Getenv("PATH"),
		"GOBIN="+at("bin"), "GOCACHE="+goEnv("GOCACHE"), "GOMODCACHE="+at("modules"),
		"GOPROXY=file://"+at("proxy")+",file://"+filepath.Join(goEnv("GOMODCACHE"), "cache", "download"),
		"GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "GOTOOLCHAIN=local", "GOWORK=off")
	// With -trimpath, what is compiled here is in the cache for "go run" in the copy, too.
	output(t, "go", "-C", "..", "build", "-trimpath", "-o", at("bin/rpcrdma"), "./cmd/rpcrdma")
	return box
}

// output runs a program, and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}

// copyRepository copies the files of the repository, to be worked in and for the proxy.
func (box *sandbox) copyRepository(t *testing.T) {
	t.Helper()
	const module = "github.com/rpcrdma/go-rpcrdma"
	proxy := filepath.Join(box.dir, "proxy", module, "@v")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(proxy, 0o755))
	archive, err := os.Create(filepath.Join(proxy, sandboxVersion+".zip"))
	check(err)
	defer archive.Close()
	z := zip.NewWriter(archive)
	files := strings.Split(strings.TrimSuffix(output(t, "git", "-C", "..", "ls-files", "-z", "-co", "--exclude-standard"), "\x00"), "\x00")
	var nested []string // modules of their own
	for _, file := range files {
		if dir, ok := strings.CutSuffix(file, "/go.mod"); ok {
			nested = append(nested, dir+"/")
		}
	}
	for _, file := range files {
		info, err := os.Lstat(filepath.Join("..", file))
		if err != nil || !info.Mode().IsRegular() {
			continue // removed, or a symbolic link
		}
		text, err := os.ReadFile(filepath.Join("..", file))
		check(err)
		to := filepath.Join(box.dir, "go-rpcrdma", file)
		check(os.MkdirAll(filepath.Dir(to), 0o755))
		check(os.WriteFile(to, text, info.Mode().Perm()))
		if slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(file, dir) }) {
			continue
		}
		w, err := z.Create(module + "@" + sandboxVersion + "/" + file)
		check(err)
		_, err = w.Write(text)
		check(err)
	}
	check(z.Close())
	mod, err := os.ReadFile("../go.mod")
	check(err)
	info := fmt.Sprintf(`{"Version":%q,"Time":"2000-01-01T00:00:00Z"}`, sandboxVersion)
	for name, text := range map[string]string{"list": sandboxVersion + "\n", sandboxVersion + ".info": info, sandboxVersion + ".mod": string(mod)} {
		check(os.WriteFile(filepath.Join(proxy, name), []byte(text), 0o644))
	}
}

// run runs a script that uses the functions of testdata/commands.sh.
func (box *sandbox) run(t *testing.T, script string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", commandsScript+script)
	cmd.Dir, cmd.Env = filepath.Join(box.dir, "go-rpcrdma"), box.env
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd.CombinedOutput()
}
