package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// The outcomes of running a mutant.
const (
	killed   = "killed"   // a test failed, or hung
	survived = "survived" // all tests passed
	stale    = "stale"    // it does not fit the code any more
)

// result is what became of a mutant.
type result struct {
	outcome string
	detail  string // the first test that failed, or why the mutant is stale
}

// tester runs the tests of a package.
type tester struct {
	sites []site
	args  []string // of go test
}

// newTester makes sure that the tests pass without a mutant. Those of a mutant may take a few times
// as long.
func newTester(dir string, args []string) (*tester, error) {
	sites, err := readSites(dir)
	if err != nil {
		return nil, err
	}
	args = slices.Concat([]string{"-failfast", "-vet=off", "-count=1"}, args)
	start := time.Now()
	if out, err := goTool("test", dir, args); err != nil {
		return nil, fmt.Errorf("%s without a mutant: %w\n%s", dir, err, out)
	}
	limit := 3*time.Since(start) + time.Minute
	return &tester{sites, append(args, "-timeout", limit.Round(time.Second).String())}, nil
}

// run runs the tests with the mutant.
func (t *tester) run(m mutant) (result, error) {
	s, ok := find(t.sites, m)
	if !ok {
		return result{stale, "its place is gone"}, nil
	}
	out, err := s.goTool("test", t.args)
	if err == nil {
		return result{survived, ""}, nil
	}
	if r, ok := failure(out); ok {
		return r, nil
	}
	return result{}, fmt.Errorf("%s: %w\n%s", m.id, err, out)
}

// find returns the site of a mutant of the list.
func find(sites []site, m mutant) (site, bool) {
	m.id = ""
	i := slices.IndexFunc(sites, func(s site) bool { return s.mutant == m })
	if i < 0 {
		return site{}, false
	}
	return sites[i], true
}

// compiles reports whether the package compiles with the mutant.
func (s site) compiles() bool {
	_, err := s.goTool("build", []string{"-o", os.DevNull})
	return err == nil
}

// goTool runs a command of the go tool for the package with the mutant.
func (s site) goTool(command string, args []string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	file, overlay := filepath.Join(tmp, "mutant.go"), filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(file, []byte(s.apply()), 0o600); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`{"Replace": {%q: %q}}`, s.path, file)
	if err := os.WriteFile(overlay, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return goTool(command, s.dir(), slices.Concat([]string{"-overlay", overlay}, args))
}

func goTool(command, dir string, args []string) ([]byte, error) {
	args = slices.Concat([]string{command}, args, []string{"./" + dir})
	return exec.Command("go", args...).CombinedOutput()
}

// failures match the test that failed, the test that ran at the timeout, the panic of another
// goroutine, or else the first line.
var failures = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^--- FAIL: (\S+)`),
	regexp.MustCompile(`running tests:\n\s+(\S+)`),
	regexp.MustCompile(`(?m)^((?:panic|fatal error): .*)`),
	regexp.MustCompile(`^(.*)`),
}

// failure returns the result that the output of a failed go test shows. There is none if no test
// ran.
func failure(out []byte) (result, bool) {
	if bytes.Contains(out, []byte("[build failed]\n")) {
		return result{stale, "it does not compile"}, true
	}
	for _, re := range failures {
		if m := re.FindSubmatch(out); m != nil && bytes.Contains(out, []byte("\nFAIL\t")) {
			return result{killed, string(m[1])}, true
		}
	}
	return result{}, false
}
