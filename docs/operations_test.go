package docs_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const operations = "operations.md"

var (
	alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	alertRow  = regexp.MustCompile(`(?m)^\| (RPCRDMA\w+) \|`)
	causeRow  = regexp.MustCompile("(?m)^\\| ((?:`[a-z0-9-]+`(?:, )?)+) \\|")
	causeName = regexp.MustCompile(`(?m)^\s+Cause\w+ +(?:Cause )?= "([a-z0-9-]+)"`)
	// notMessage is how code begins that is several words, and not what a program says.
	notMessage = regexp.MustCompile(`^(-|/|rpcrdma |systemctl |openssl |journalctl |umount |rdma |iostat |ulimit |kinit |kvno |kadmin )`)
)

// TestAlerts checks that operations.md has a row for each alert of deploy, and for no other.
func TestAlerts(t *testing.T) {
	got := submatches(alertRow, read(t, operations))
	want := submatches(alertName, read(t, "../deploy/prometheus/rules.yml"))
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%s has rows for %q, want %q", operations, got, want)
	}
}

// TestProbeCauses checks that each cause that operations.md names is one of probe's.
func TestProbeCauses(t *testing.T) {
	have := submatches(causeName, read(t, "../cmd/rpcrdma/internal/probe/report.go"))
	named := 0
	for _, row := range submatches(causeRow, read(t, operations)) {
		for _, m := range quoted.FindAllStringSubmatch(row, -1) {
			if named++; !slices.Contains(have, m[1]) {
				t.Errorf("%s: %q is no cause of probe", operations, m[1])
			}
		}
	}
	if named < 10 {
		t.Errorf("%d causes are named", named)
	}
}

// TestMessages checks that the messages that operations.md and kerberos.md quote are in the code.
// "..." stands for any words.
func TestMessages(t *testing.T) {
	all := messages(t)
	checked := 0
	for _, file := range []string{operations, "kerberos.md"} {
		for i, line := range prose(t, file) {
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(m[1], " ") || notMessage.MatchString(m[1]) {
					continue
				}
				checked++
				for part := range strings.SplitSeq(m[1], " ... ") {
					if !strings.Contains(all, part) {
						t.Errorf("%s:%d: no message has %q", file, i+1, part)
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d messages were checked", checked)
	}
}

// messages returns the strings in the code of the module without its tests. Those that are joined
// by + are one.
func messages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(path, -1, len(src)), src, nil, 0)
		for {
			switch _, tok, lit := s.Scan(); tok {
			case token.EOF:
				return nil
			case token.STRING:
				if text, err := strconv.Unquote(lit); err == nil {
					all.WriteString(text)
				}
			case token.ADD:
			default:
				all.WriteByte('\n')
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// submatches returns what the first group of each match is.
func submatches(re *regexp.Regexp, text string) (all []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
