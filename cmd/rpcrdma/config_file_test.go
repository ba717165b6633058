package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// configFile makes a file for --config.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigFile: a file sets flags, and the command line wins.
func TestConfigFile(t *testing.T) {
	const file = `
# Two exports in memory.
memory = ["/a", "/b"]
memory-size = "2MiB"
read-only = true
squash = "none"
anonuid = 7
`
	for _, tt := range []struct{ name, file, args, want string }{
		{"file alone", file, "", "/a (memory, 2MiB)\n    for everybody: read-only, no squashing\n" +
			"/b (memory, 2MiB)\n    for everybody: read-only, no squashing\n"},
		{"flags win", file, "--squash all --read-only=false",
			"/a (memory, 2MiB)\n    for everybody: read-write, all squashed to 7:65534\n" +
				"/b (memory, 2MiB)\n    for everybody: read-write, all squashed to 7:65534\n"},
		{"a flag wins over a list", file, "--memory /c",
			"/c (memory, 2MiB)\n    for everybody: read-only, no squashing\n"},
		{"one element", `memory = "/a"` + "\nmemory-size = 1048576", "",
			"/a (memory, 1MiB)\n    for everybody: read-write, root squashed to 65534:65534\n"},
		{"in the order of the file", `allow = ["192.0.2.0/24", "2001:db8::1"]` + "\n" +
			`memory = ["/z", "/y"]`, "",
			"/z (memory, 4GiB)\n    for 192.0.2.0/24 2001:db8::1/128: " +
				"read-write, root squashed to 65534:65534\n" +
				"/y (memory, 4GiB)\n    for 192.0.2.0/24 2001:db8::1/128: " +
				"read-write, root squashed to 65534:65534\n"},
		{"an empty file", "", "--memory /a",
			"/a (memory, 4GiB)\n    for everybody: read-write, root squashed to 65534:65534\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"serve", "--check", "--config", configFile(t, tt.file)},
				strings.Fields(tt.args)...)
			code, stdout, stderr := execute(t, args...)
			if code != cli.ExitOK || stdout != tt.want || stderr != "" {
				t.Errorf("exit %d: %s, want %s%s", code, stdout, tt.want, stderr)
			}
		})
	}
}

// TestConfigFileErrors: errors name what is wrong in a file.
func TestConfigFileErrors(t *testing.T) {
	for _, tt := range []struct {
		name, command, file, args string
		code                      int
		say                       string
	}{
		{"a misspelt name", "serve", `exprot = ["/a=/srv"]`, "", cli.ExitUsage,
			"there is no flag exprot: did you mean export?"},
		{"a misspelt name, gateway", "gateway", `lisen = ":2049"`, "", cli.ExitUsage,
			"there is no flag lisen: did you mean listen?"},
		{"nothing like it", "serve", `wavelength = 3`, "", cli.ExitUsage,
			"there is no flag wavelength\n"},
		{"another command's", "gateway", `squash = "all"`, "", cli.ExitUsage,
			"there is no flag squash\n"},
		{"a table", "serve", "[serve]\nmemory = \"/a\"", "", cli.ExitUsage,
			"there is no flag serve\n"},
		{"a key in a table", "serve", `memory.name = "/a"`, "", cli.ExitUsage,
			"there is no flag memory.name\n"},
		{"config itself", "serve", `config = "other"`, "", cli.ExitUsage,
			"there is no flag config"},
		{"help", "serve", `help = true`, "", cli.ExitUsage, "there is no flag help"},
		{"a value in quotes", "serve", `rpcbind = "true"`, "", cli.ExitUsage,
			"rpcbind: write true or false, without quotes\n"},
		{"a truth value", "serve", `listen = true`, "", cli.ExitUsage,
			"listen: write a number, or text in quotes\n"},
		{"a time", "serve", `listen = 07:32:00`, "", cli.ExitUsage,
			"listen: write a number, or text in quotes\n"},
		{"a list for one value", "serve", `listen = [":1", ":2"]`, "", cli.ExitUsage,
			"listen: this flag takes one value, not a list\n"},
		{"a list in a list", "serve", `memory = [["/a"]]`, "", cli.ExitUsage,
			"memory: write a number, or text in quotes\n"},
		{"a wrong value", "serve", `crc = "maybe"`, "", cli.ExitUsage,
			`invalid argument "maybe" for "--crc" flag: write one of auto, on, off`},
		{"a wrong element", "serve", `allow = ["192.0.2.0/24", "host"]`, "", cli.ExitUsage,
			`invalid argument "host" for "--allow" flag: host names are not looked up`},
		{"wrong, and a flag wins", "serve", `read-only = 3`, "--read-only", cli.ExitUsage,
			"read-only: write true or false, without quotes\n"},
		{"form", "serve", "memory = \"/a\"\nlisten = :20049\n", "", cli.ExitUsage, "line 2: "},
		{"twice", "serve", "listen = \":1\"\nlisten = \":2\"\n", "", cli.ExitUsage, "line 2: "},
		{"together", "serve", `memory = "/a"` + "\n" + `memory-size = 64`, "", cli.ExitUsage,
			"--memory-size 64 is less than 1MiB"},
		{"gateway's server", "gateway", `to = "tcp://server"`, "", cli.ExitUsage,
			"--to tcp://server/: clients reach a server over TCP without a gateway"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := configFile(t, tt.file)
			args := append([]string{tt.command, "--config", path}, strings.Fields(tt.args)...)
			code, stdout, stderr := execute(t, args...)
			if code != tt.code || !strings.Contains(stderr, tt.say) || stdout != "" {
				t.Errorf("exit %d, want %d; %q lacks %q", code, tt.code, stderr, tt.say)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "missing")
	code, _, stderr := execute(t, "serve", "--config", missing)
	if want := "rpcrdma: --config " + missing + ": no such file or directory\n"; code !=
		cli.ExitFailed || stderr != want {
		t.Errorf("exit %d: %q, want %q", code, stderr, want)
	}
}

// TestConfigFileKeys: each flag of serve and gateway is a key. It takes a list if the flag may be
// repeated.
func TestConfigFileKeys(t *testing.T) {
	for _, name := range []string{"serve", "gateway"} {
		command := commandNamed(t, name)
		command.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "config" {
				return
			}
			path := configFile(t, f.Name+" = {}")
			_, _, stderr := execute(t, name, "--config", path)
			if want := "rpcrdma: --config " + path + ": " + f.Name + ": write "; !strings.HasPrefix(
				stderr, want) {
				t.Errorf("%s --%s: %q lacks %q", name, f.Name, stderr, want)
			}
			_, may := f.Value.(interface{ Repeatable() })
			if says := strings.Contains(f.Usage, "may be repeated"); says != may {
				t.Errorf("%s --%s: may it be repeated? Its usage: %v; its type: %v", name, f.Name,
					says, may)
			}
		})
	}
}

// commandNamed returns a command that is not run.
func commandNamed(t *testing.T, name string) *cobra.Command {
	t.Helper()
	root := newRoot(io.Discard, io.Discard)
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	t.Fatalf("no command %s", name)
	return nil
}
