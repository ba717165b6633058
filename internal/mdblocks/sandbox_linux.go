package mdblocks

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// functions is what scripts use.
//
//go:embed commands.sh
var functions string

// Sandbox is where commands are run: a copy of the repository, and a module proxy that has it as
// the latest version. The commands see the copy at the path of the repository, so that what the
// build cache has of the one serves the other.
type Sandbox struct {
	root string // the repository
	dir  string
	env  []string
}

// The proxy has this version of this module.
const module, version = "github.com/rpcrdma/go-rpcrdma", "v0.0.1"

// copy is the directory where commands are run.
func (box *Sandbox) copy() string { return filepath.Join(box.dir, "src", module+"@"+version) }

// NewSandbox makes a sandbox of the repository at root, for one test. Without the rights of root it
// skips the test.
func NewSandbox(t *testing.T, root string) *Sandbox {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to make namespaces")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	box := &Sandbox{root: root, dir: t.TempDir()}
	at := func(name string) string { return filepath.Join(box.dir, name) }
	for _, name := range []string{"bin", "home", "mounts", "downloads"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	box.copyRepository(t)
	box.makeProxy(t)
	goEnv := func(name string) string { return strings.TrimSpace(output(t, "go", "env", name)) }
	box.env = append(os.Environ(), "SANDBOX="+box.dir, "HOME="+at("home"), "PATH="+at("bin")+":"+os.Getenv("PATH"),
		"COPY="+box.copy(), "ROOT="+root,
		"GOBIN="+at("bin"), "GOCACHE="+goEnv("GOCACHE"), "GOMODCACHE="+goEnv("GOMODCACHE"),
		"GOPROXY=file://"+at("proxy")+",file://"+at("downloads"),
		"GOSUMDB=off", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOWORK=off")
	output(t, "go", "-C", root, "build", "-buildvcs=false", "-o", at("bin/rpcrdma"), "./cmd/rpcrdma")
	if out, err := box.Run(t, ""); err != nil {
		t.Fatalf("cannot make namespaces, which takes bash, mount and ip: %v\n%s", err, out)
	}
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

// copyRepository copies the files of the repository, without the modules nested in it.
func (box *Sandbox) copyRepository(t *testing.T) {
	t.Helper()
	files := output(t, "git", "-C", box.root, "ls-files", "-z", "-co", "--exclude-standard")
	nested := regexp.MustCompile(`\x00([^\x00]+/)go\.mod\x00`).FindAllStringSubmatch(files, -1)
	for _, file := range strings.Split(strings.TrimSuffix(files, "\x00"), "\x00") {
		from, to := filepath.Join(box.root, file), filepath.Join(box.copy(), file)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(nested, func(m []string) bool {
			return strings.HasPrefix(file, m[1])
		}) {
			continue // removed meanwhile, a symbolic link, or nested
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// makeProxy makes a directory for GOPROXY that has the copy, in the form that "go help goproxy"
// describes.
func (box *Sandbox) makeProxy(t *testing.T) {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	src := os.DirFS(filepath.Join(box.dir, "src"))
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(src, name)
		if err != nil {
			return err
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(box.copy(), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(box.dir, "proxy", module, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2000-01-01T00:00:00Z"}`),
		version + ".mod":  mod,
		version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Run runs a script that uses the functions of commands.sh, in namespaces of its own. What it
// serves is ended.
func (box *Sandbox) Run(t *testing.T, script string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", functions+"\nsetup\n"+script+"\nend_all\n")
	cmd.Env = box.env
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
	}
	return cmd.CombinedOutput()
}

// runByCI are commands that CI runs itself, and the files and lines that do.
var runByCI = map[string]struct{ file, line string }{
	// in two halves, some packages plain and the others under the race detector
	"go test ./...": {".ci/run", `(?m)^run_tests .*"\$\{plain\[@\]\}"\nrun_race_tests .*"\$\{race\[@\]\}"$`},
}

var (
	// serves recognizes commands that go on until they are ended, unless ends does.
	serves = regexp.MustCompile(`^rpcrdma (serve|gateway|ping|bench serve)\b`)
	// listens is what two servers of one kind differ in that run at the same time.
	listens = regexp.MustCompile(` --listen \S+`)
	ends    = regexp.MustCompile(` --(check|count|help)\b`)
)

// Script returns the calls of the functions in commands.sh that run a block.
func (box *Sandbox) Script(t *testing.T, b Block) string {
	t.Helper()
	if b.Info == "toml" {
		return fmt.Sprintf("accept %v %s\n", b, quote(b.Text))
	}
	var s strings.Builder
	for _, c := range b.Commands() {
		where := fmt.Sprintf("%s:%d", b.File, c.Line)
		text, _, _ := strings.Cut(c.Text, " #")
		text = strings.TrimSpace(text)
		if by, ok := runByCI[text]; ok {
			steps, err := os.ReadFile(filepath.Join(box.root, by.file))
			if err != nil || !regexp.MustCompile(by.line).Match(steps) {
				t.Errorf("%s: %s does not run %q, or not in this way: %v", where, by.file, text, err)
			}
			continue
		}
		if kind := serves.FindStringSubmatch(text); kind != nil && !ends.MatchString(text) {
			name := strings.ReplaceAll(kind[1]+listens.FindString(text), " ", "-")
			fmt.Fprintf(&s, "start %s %s %s\n", where, name, quote(c.Text))
			continue
		}
		fmt.Fprintf(&s, "run %s %s %s\n", where, c.Exit, quote(c.Text))
	}
	return s.String()
}

// quote quotes a word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
