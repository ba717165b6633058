package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestHelpFlags: lines of flags are short, and flags of connections follow the command's own, under
// their own title.
func TestHelpFlags(t *testing.T) {
	for _, tt := range []struct{ name, own, connection string }{
		{"ls", "--long --help", "--uid --gid --groups --wait --connections --size --parallel --credits --inline --crc --dialect"},
		{"df", "--inodes --help", "--uid --wait --crc"},
		{"mkdir", "--parents --mode --help", "--uid --wait --crc"},
		{"get", "--recursive --help", "--uid --wait --size"},
		{"serve", "--export --crc --log-level --help", ""},
		{"gateway", "--to --crc --help", ""},
		{"conf", "--program --call --reply --help", "--uid --gid --groups --crc"},
		{"demo", "--provider --help", ""},
		{"probe", "--json --timeout --help", "--uid --gid --groups --inline --crc --dialect --tls-ca"},
	} {
		code, stdout, stderr := execute(t, tt.name, "--help")
		if code != cli.ExitOK || stderr != "" {
			t.Fatalf("%s: exit %d: %s", tt.name, code, stderr)
		}
		_, flags, _ := strings.Cut(stdout, "\nFlags:\n")
		own, connection, _ := strings.Cut(flags, "\nConnection:\n")
		for line := range strings.Lines(flags) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", tt.name, n, line)
			}
		}
		for _, block := range []struct{ title, text, other, want string }{{"Flags", own, connection, tt.own}, {"Connection", connection, own, tt.connection}} {
			for _, flag := range strings.Fields(block.want) {
				has := regexp.MustCompile(`(?m)^ .*` + flag + `\b`)
				if !has.MatchString(block.text) || has.MatchString(block.other) {
					t.Errorf("%s: %s is not under %s alone in\n%s", tt.name, flag, block.title, flags)
				}
			}
		}
		if (connection != "") != (tt.connection != "") {
			t.Errorf("%s: under Connection: %q", tt.name, connection)
		}
	}
}

// TestHelpSays: facts about the draft's dialect, and about URLs of servers.
func TestHelpSays(t *testing.T) {
	for _, tt := range []struct{ name, say string }{
		{"conf", "rpcrdma conf rdma://HOST[:PORT | ?rpcbind[=PORT]]"},
		{"conf", "Conf speaks the draft's dialect"},
		{"conf", "the first of them that answers"},
		{"probe", "rpcrdma probe URL | HOST[:PORT]"},
		{"probe", "a status (ok, note, warn, fail or skipped)"},
		{"probe", "docs/concepts.md explains credits, inline sizes, IRD and ORD"},
		{"demo", "docs/concepts.md explains inline, chunks and credits"},
		{"serve", "gss those that call with krb5i or krb5p of Kerberos"},
		{"gateway", "rpcrdma gateway --to rdma://HOST[:PORT | ?rpcbind[=PORT]]"},
		{"gateway", "connections begin with a call of CONF_RDMA"},
		{"get", "connections begin with a call of CONF_RDMA"},
		{"demo", "padding, which are not in inline sent"},
		{"demo", "the lines up and down do not"},
		{"serve", "a power of two, from 64 to half of --inline"},
		{"bench", "The advice is for --inline of serve, gateway and the commands on files, and in Go for InlineSend, " +
			"InlineRecv and MinChunk of rpcrdma.Config"},
		{"serve", "raise the largest reply in one Send to 64KiB: off, any, sys, gss; sys is"},
	} {
		_, stdout, _ := execute(t, tt.name, "--help")
		if got := strings.Join(strings.Fields(stdout), " "); !strings.Contains(got, tt.say) {
			t.Errorf("%s --help: no %q in\n%s", tt.name, tt.say, stdout)
		}
	}
}

// TestHelpRoot: the help of rpcrdma has what users need first.
func TestHelpRoot(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"-h"}} {
		code, stdout, stderr := execute(t, args...)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
		for _, want := range []string{"rdma://HOST[:PORT]/PATH[?mountport=PORT]", "tcp://HOST", "%25", "exit code is 0", "130", "--version", "--help"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q: no %q in\n%s", args, want, stdout)
			}
		}
	}
}

// TestHelpCommand: the command help prints the same as --help.
func TestHelpCommand(t *testing.T) {
	for _, command := range []string{"ls", "chown", "help", "completion", "completion bash"} {
		_, want, _ := execute(t, append(strings.Fields(command), "--help")...)
		code, got, stderr := execute(t, append([]string{"help"}, strings.Fields(command)...)...)
		if code != cli.ExitOK || stderr != "" || got != want || !strings.Contains(got, "Usage:\n  rpcrdma "+command) {
			t.Errorf("help %s: exit %d: %s%s\nwant\n%s", command, code, stderr, got, want)
		}
	}
}

// TestUnknownCommand: the error is one line, with a hint at --help.
func TestUnknownCommand(t *testing.T) {
	for args, want := range map[string]string{
		"xyzzy":               `unknown command "xyzzy"`,
		"xy":                  `unknown command "xy"`,
		"lss":                 `unknown command "lss": did you mean ls?`,
		"rmdri":               `unknown command "rmdri": did you mean rmdir?`,
		"rmdi":                `unknown command "rmdi": did you mean rmdir?`,
		"gett --help":         `unknown command "gett": did you mean get?`,
		"-h gett":             `unknown command "gett": did you mean get?`,
		"bench serv --help":   `unknown command "serv": did you mean serve?`,
		"copy rdma://h a":     `unknown command "copy": did you mean cp, get or put?`,
		"cho":                 `unknown command "cho": did you mean chown?`,
		"help xyzzy":          `unknown command "xyzzy"`,
		"help statt":          `unknown command "statt": did you mean stat?`,
		"help ls xyzzy":       `unknown command "ls xyzzy"`,
		"help completion csh": `unknown command "completion csh"`,
	} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		first, second, _ := strings.Cut(stderr, "\n")
		if code != cli.ExitUsage || stdout != "" || first != "rpcrdma: "+want || !strings.HasPrefix(second, "Run 'rpcrdma ") || strings.Count(second, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %s, want %s", args, code, stdout, stderr, want)
		}
	}
}

// TestUnknownFlag: the error suggests similar flags of the same command.
func TestUnknownFlag(t *testing.T) {
	for args, want := range map[string]string{
		"ls --recursiv rdma://h":        "unknown flag: --recursiv: did you mean --recursive?",
		"ls --ui=5 rdma://h":            "unknown flag: --ui: did you mean --uid?",
		"ls --squash all rdma://h":      "unknown flag: --squash",
		"serve --export-file x":         "unknown flag: --export-file",
		"serve --export=/a=/b --sqash=": "unknown flag: --sqash: did you mean --squash?",
		"put --bwlimt 1MiB a rdma://h":  "unknown flag: --bwlimt: did you mean --bwlimit?",
		"serve --metric :9":             "unknown flag: --metric: did you mean --metrics?",
		"rm --recursive-tool rdma://h":  "unknown flag: --recursive-tool",
		"ls -Z rdma://h":                "unknown shorthand flag: 'Z' in -Z",
	} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		if first, _, _ := strings.Cut(stderr, "\n"); code != cli.ExitUsage || stdout != "" || first != "rpcrdma: "+want {
			t.Errorf("%s: exit %d: %s, want %s", args, code, stderr, want)
		}
	}
}
