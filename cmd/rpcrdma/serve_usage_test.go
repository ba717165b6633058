package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestServeCommandLine: invalid command lines, and their messages.
func TestServeCommandLine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	const ports = " --listen 127.0.0.1:0 --mount 127.0.0.1:0"
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{"", cli.ExitUsage, "nothing to serve: name a directory with --export NAME=DIR"},
		{"/srv", cli.ExitUsage, `unknown argument "/srv": exports are named with --export and --memory`},
		{"--nonsense", cli.ExitUsage, "unknown flag: --nonsense"},

		{"--export /export", cli.ExitUsage, `invalid argument "/export" for "--export" flag: write NAME=DIR`},
		{"--export /export=", cli.ExitUsage, "write NAME=DIR"},
		{"--export =/srv", cli.ExitUsage, "the export has no name"},
		{"--export srv=/srv", cli.ExitUsage, "the name of an export is an absolute path: write /srv"},
		{"--export /a/../b/=/srv", cli.ExitUsage, "the name of an export is a path without detours: write /b"},
		{"--memory mem", cli.ExitUsage, `invalid argument "mem" for "--memory" flag: the name of an export is an absolute path: write /mem`},
		{"--memory=", cli.ExitUsage, "the export has no name"},
		{"--memory /mem/", cli.ExitUsage, "write /mem\n"},
		{"--memory /" + strings.Repeat("a", 1024), cli.ExitUsage, "at most 1024 bytes"},
		{"--memory /a --memory /b --memory /a", cli.ExitUsage, "two exports have the name /a"},
		{"--memory /a --export /a=" + dir, cli.ExitUsage, "two exports have the name /a"},
		{"--export /a=/srv --state=", cli.ExitUsage, `invalid argument "" for "--state" flag: write a directory`},
		{"--memory /a --state " + dir, cli.ExitUsage, "--state is for directories, but there is no --export"},

		{"--memory /m --memory-size 4GB", cli.ExitUsage, `invalid argument "4GB" for "--memory-size" flag: write a number of bytes`},
		{"--memory /m --memory-size 0", cli.ExitUsage, "write a number of bytes"},
		{"--memory /m --memory-size -1KiB", cli.ExitUsage, "write a number of bytes"},
		{"--memory /m --memory-size 8388608TiB", cli.ExitUsage, "write a number of bytes"},
		{"--memory /m --memory-size 64", cli.ExitUsage, "--memory-size 64 is less than 1MiB: write a unit, such as 64MiB; a number alone is bytes"},
		{"--memory /m --memory-size 1023KiB", cli.ExitUsage, "--memory-size 1023KiB is less than 1MiB"},
		{"--memory /m --memory-size 64MB", cli.ExitUsage, "write a number of bytes"},

		{"--memory /m --provider loopback", cli.ExitUsage, "for \"--provider\" flag: loopback stays inside one process, where no client can reach it\n"},
		{"--memory /m --provider nonsense", cli.ExitUsage, "unknown provider \"nonsense\": write iwarp, roce, sctp, or several of them, separated by commas\n"},
		{"--memory /m --provider iwarp,roce,iwarp", cli.ExitUsage, "for \"--provider\" flag: iwarp is given twice\n"},
		{"--memory /m --provider iwarp,", cli.ExitUsage, "unknown provider \"\": write iwarp, roce, sctp, or several of them, separated by commas\n"},
		{"--memory /m --provider sctp --rdma-rpcbind :20111", cli.ExitUsage, "--rdma-rpcbind needs --provider iwarp or roce\n"},
		{"--memory /m --dialect nonsense", cli.ExitUsage, `invalid argument "nonsense" for "--dialect" flag: write one of rfc8166, draft`},
		{"--memory /m --conf some", cli.ExitUsage, `invalid argument "some" for "--conf" flag: write one of off, any, sys, gss`},
		{"--memory /m --align 512", cli.ExitUsage, "--align is for clients that pad data, as in --dialect draft: write that, or leave out --align\n"},
		{"--memory /m --dialect draft --align 32", cli.ExitUsage, `invalid argument "32" for "--align" flag: write a power of two, from 64 to 32KiB, or 0`},
		{"--memory /m --dialect draft --align 768", cli.ExitUsage, "write a power of two"},
		{"--memory /m --dialect draft --align 64KiB --inline 64KiB", cli.ExitUsage, "write a power of two"},
		{"--memory /m --dialect draft --align -64", cli.ExitUsage, "write a number of bytes"},
		{"--memory /m --dialect draft --align 512 --conf off", cli.ExitUsage, "clients learn --align by CONF_RDMA, which --conf off refuses: leave out one of them\n"},
		{"--memory /m --dialect draft --align 4096", cli.ExitUsage, "--align 4KiB is more than half of --inline: write --align 2KiB or less, or --inline 8KiB\n"},
		{"--memory /m --dialect draft --align 32KiB --inline 63KiB", cli.ExitUsage, "--align 32KiB is more than half of --inline: write --align 16KiB or less, or --inline 64KiB\n"},
		{"--memory /m --dialect draft --align 1KiB --inline 1KiB", cli.ExitUsage, "write --align 512 or less, or --inline 2KiB\n"},
		{"--memory /m --sec krb6", cli.ExitUsage, `invalid argument "krb6" for "--sec" flag: "krb6" is no flavour: there are sys, krb5, krb5i, krb5p and none`},
		{"--memory /m --sec sys,krb5", cli.ExitUsage, `"sys,krb5" is no flavour`},
		{"--memory /m --sec sys:sys", cli.ExitUsage, "sys is there twice"},
		{"--memory /m --sec=", cli.ExitUsage, `"" is no flavour`},
		{"--exports " + file + " --read-only", cli.ExitUsage, "--read-only is for exports of the command line, but there are none: leave it out, and write ro in " + file},
		{"--exports " + file + " --squash all", cli.ExitUsage, "--squash is for exports of the command line, but there are none"},
		{"--exports " + file + " --anonuid 7", cli.ExitUsage, "write anonuid=UID in " + file},
		{"--exports " + file + " --anongid 7", cli.ExitUsage, "write anongid=GID in " + file},
		{"--memory /m --realm a@B", cli.ExitUsage, `invalid argument "a@B" for "--realm" flag: write a realm, such as EXAMPLE.ORG`},
		{"--memory /m --sec krb5 --keytab " + missing + ports, cli.ExitFailed,
			"callers of /m must prove who they are (sec=krb5 and the like), which needs a keytab with this host's keys: keytab: stat " + missing +
				": no such file or directory; on the KDC, 'addprinc -randkey nfs/"},
		{"--memory /m --sec krb5 --keytab " + file + ports, cli.ExitFailed, "keytab " + file},
		{"--memory /m --conf gss --keytab " + missing + ports, cli.ExitFailed, "--conf gss is for callers who prove who they are, which needs a keytab"},
		{"--memory /m --crc maybe", cli.ExitUsage, `invalid argument "maybe" for "--crc" flag: write one of auto, on, off`},
		{"--memory /m --squash some", cli.ExitUsage, `invalid argument "some" for "--squash" flag: write one of root, all, none`},
		{"--memory /m --squash no_root_squash", cli.ExitUsage, "write --squash none\n"},
		{"--memory /m --squash root_squash", cli.ExitUsage, "write --squash root\n"},
		{"--memory /m --squash all_squash", cli.ExitUsage, "write --squash all\n"},
		{"--memory /m --log-level loud", cli.ExitUsage, `write one of debug, info, warn, error`},
		{"--memory /m --anonuid no-such-user", cli.ExitUsage, `invalid argument "no-such-user" for "--anonuid" flag: this host has no user of that name: write a number, or a name that it has`},
		{"--memory /m --anongid -1", cli.ExitUsage, `invalid argument "-1" for "--anongid" flag: write a number from 0 to 4294967294, or a name of this host`},
		{"--memory /m --inline 512", cli.ExitUsage, `invalid argument "512" for "--inline" flag: write a multiple of 1KiB up to 64KiB`},
		{"--memory /m --inline 1500", cli.ExitUsage, "write a multiple of 1KiB"},
		{"--memory /m --inline 66560", cli.ExitUsage, "write a multiple of 1KiB"},
		{"--memory /m --inline 65KiB", cli.ExitUsage, "write a multiple of 1KiB"},
		{"--memory /m --credits 0", cli.ExitUsage, "--credits 0: write a number from 1 to 4096"},
		{"--memory /m --credits 4097", cli.ExitUsage, "--credits 4097: "},

		{"--memory /m --allow nonsense", cli.ExitUsage, `invalid argument "nonsense" for "--allow" flag: host names are not looked up: write a network`},
		{"--memory /m --allow 192.0.2.0/33", cli.ExitUsage, "write a network"},
		{"--memory /m --allow client.example.org", cli.ExitUsage, "host names are not looked up"},
		{"--memory /m --allow 192.0.2.1,192.0.2.2", cli.ExitUsage, "write one at a time: --allow 192.0.2.1 --allow 192.0.2.2"},
		{"--memory /m --allow 192.0.2.1.1", cli.ExitUsage, "flag: write a network"},
		{"--memory /m --allow fe80::1%eth0", cli.ExitUsage, "write a network"},

		{"--memory /m --listen 20049", cli.ExitUsage, `--listen "20049": write HOST:PORT, or :PORT`},
		{"--memory /m --listen none", cli.ExitUsage, `--listen "none": write HOST:PORT`},
		{"--memory /m --mount 20048", cli.ExitUsage, `--mount "20048": write HOST:PORT, or :PORT for all addresses of this host; or none`},
		{"--memory /m --listen :-1", cli.ExitUsage, "write a port from 0 to 65535"},
		{"--memory /m --listen :rdma.nonsense", cli.ExitUsage, "write a port from 0 to 65535"},
		{"--memory /m --listen :2049 --mount :2049", cli.ExitUsage, "--listen and --mount are both :2049: RDMA and TCP need a port each"},
		{"--memory /m --listen 127.0.0.1:66000", cli.ExitUsage, `--listen "127.0.0.1:66000": write a port from 0 to 65535`},
		{"--memory /m --listen 127.0.0.1:0 --mount 127.0.0.1:66000", cli.ExitUsage, `--mount "127.0.0.1:66000": write a port from 0 to 65535`},

		{"--export /e=" + missing + ports, cli.ExitFailed, "--export /e=" + missing + ": there is no such directory: make it, or name another"},
		{"--export /e=" + file + ports, cli.ExitFailed, "--export /e=" + file + ": it is not a directory"},
		{"--export /e=" + dir + " --state " + file + ports, cli.ExitFailed, "--state " + file + ": "},
		{"--export /e=" + dir + " --state " + dir + ports, cli.ExitFailed, "--state " + dir + ": it lies within " + dir + ", which is exported as /e"},
		{"--export /e=" + dir + " --state " + missing + ports, cli.ExitFailed, "it lies within " + dir},
	} {
		code, stdout, stderr := execute(t, append([]string{"serve"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) {
			t.Errorf("%.100q: exit %d, want %d: %swant %q", tt.args, code, tt.code, stderr, tt.say)
		}
		if hint := "Run 'rpcrdma serve --help' for usage.\n"; strings.HasSuffix(stderr, hint) != (code == cli.ExitUsage) {
			t.Errorf("%.100q: exit %d: %s", tt.args, code, stderr)
		}
		if stdout != "" {
			t.Errorf("%.100q: on standard output: %s", tt.args, stdout)
		}
	}
}

func TestServeHelp(t *testing.T) {
	code, stdout, stderr := execute(t, "serve", "--help")
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"--export NAME=DIR ", "--memory NAME ", "--memory-size SIZE ", "(default 4GiB)", "--state DIR ", "--allow CIDR ", "(default root)",
		"--anonuid ID ", "(default 65534)", "--listen ADDRESS ", `(default ":20049")`, "--mount ADDRESS ", `(default ":20048")`, "--provider LIST ",
		"--crc WORD ", "(default auto)", "--inline SIZE ", "(default 4KiB)", "--credits NUMBER ", "(default 64)", "--dialect WORD ", "--conf WORD ", "(default any)", "--align SIZE ",
		"  rpcrdma serve --export /data=/srv/data ", "mode 1777", "look-ups of rpcbind", "does not enter what is mounted below DIR", "one NFS server in rpcbind", "more than a second after", "group 0 of any user",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestVersion(t *testing.T) {
	_, want, _ := execute(t, "--version")
	for _, arg := range []string{"--version", "version"} {
		code, stdout, stderr := execute(t, arg)
		if code != cli.ExitOK || stderr != "" || stdout != want || !strings.HasPrefix(stdout, "rpcrdma version ") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%s: exit %d: %q, %s", arg, code, stdout, stderr)
		}
	}
	if code, _, stderr := execute(t, "version", "2"); code != cli.ExitUsage || !strings.Contains(stderr, `unknown argument "2"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestCut: messages stay short, and names of all lengths recognizable.
func TestCut(t *testing.T) {
	path := strings.Repeat("/directory", 25)
	for in, want := range map[string]string{
		"cannot open " + path + ": no":                                      "cannot open " + path + ": no",
		`"` + strings.Repeat("a", 2000) + strings.Repeat("b", 59) + `" two`: `"` + strings.Repeat("a", 119) + "..." + strings.Repeat("b", 59) + `" two`,
		strings.Repeat("ä", 3000) + ": no":                                  strings.Repeat("ä", 120) + "..." + strings.Repeat("ä", 59) + ": no",
	} {
		if got := cli.Cut(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, _, stderr := execute(t, "serve", "--memory", "/"+strings.Repeat("a", 5000)); len(stderr) > 500 {
		t.Errorf("%d bytes: %s", len(stderr), stderr)
	}
}

// TestDescribe: descriptions of exports, for a user other than root.
func TestDescribe(t *testing.T) {
	cfg := serve.NewConfig(nil)
	rules := []nfsserver.Rule{cfg.Rule()}
	for _, tt := range []struct {
		e    serve.Export
		uid  int
		want string
	}{
		{serve.Export{Name: "/m", Dir: "", Rules: rules}, 1000, "memory, 4GiB, read-write, root squashed to 65534:65534"},
		{serve.Export{Name: "/d", Dir: "/srv", Rules: rules}, 0, "directory /srv, read-write, root squashed to 65534:65534, to be mounted again after a restart"},
		{serve.Export{Name: "/d", Dir: "/srv", Rules: rules}, 1000, "directory /srv, read-write, root squashed to 65534:65534, files belong to user 1000, who runs serve, to be mounted again after a restart"},
	} {
		if got := cfg.Describe(tt.e, tt.uid); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want cli.Size
		text string
	}{
		{"1", 1, "1"},
		{"1023", 1023, "1023"},
		{"1024", 1024, "1KiB"},
		{"1536KiB", 1536 << 10, "1536KiB"},
		{"2048KiB", 2 << 20, "2MiB"},
		{"2K", 2 << 10, "2KiB"},
		{"64M", 64 << 20, "64MiB"},
		{"4G", 4 << 30, "4GiB"},
		{"1T", 1 << 40, "1TiB"},
		{"4GiB", 4 << 30, "4GiB"},
		{"3TiB", 3 << 40, "3TiB"},
		{"8388607TiB", 8388607 << 40, "8388607TiB"},
	} {
		var z cli.Size
		if err := z.Set(tt.in); err != nil || z != tt.want || z.String() != tt.text {
			t.Errorf("%q is %d, %v, want %d; in text %s, want %s", tt.in, int64(z), err, int64(tt.want), &z, tt.text)
		}
	}
}

func TestAllow(t *testing.T) {
	var f daemon.AllowFlag
	for _, s := range []string{"192.0.2.1", "192.0.2.77/24", "2001:db8::1", "2001:db8::1/32", "::ffff:192.0.2.1", "::ffff:192.0.2.0/120", "0.0.0.0/0", "::/0"} {
		if err := f.Set(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	var want []netip.Prefix
	for _, s := range []string{"192.0.2.1/32", "192.0.2.0/24", "2001:db8::1/128", "2001:db8::/32", "192.0.2.1/32", "192.0.2.0/24", "0.0.0.0/0", "::/0"} {
		want = append(want, netip.MustParsePrefix(s))
	}
	if !slices.Equal(f, want) {
		t.Errorf("got %v, want %v", f, want)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"host:/export":      "host:/export",
		"[2001:db8::1]:/a":  "'[2001:db8::1]:/a'",
		"host:/my files":    "'host:/my files'",
		"host:/it's":        `'host:/it'\''s'`,
		"host:/$HOME;rm -r": "'host:/$HOME;rm -r'",
	} {
		if got := serve.Quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestListenError(t *testing.T) {
	for _, tt := range []struct {
		flag, addr string
		err        error
		want       string
	}{
		{"--mount", "host:1", syscall.EADDRINUSE, "; another server may have it: choose another port with --mount"},
		{"--mount", "host:1", syscall.EACCES, "; ports below 1024 need privileges: choose another port with --mount"},
		{"--mount", "host:1", syscall.EADDRNOTAVAIL, "; choose an address of this host with --mount, or :PORT for all"},
		{"--mount", "host:1", syscall.EINVAL, ""},
		{"--rdma-rpcbind", ":111", syscall.EADDRINUSE, "; rpcbind probably has it: leave out --rdma-rpcbind, and use --rpcbind to register with it"},
		{"--rdma-rpcbind", ":111", syscall.EACCES, "; ports below 1024 need privileges: choose another port with --rdma-rpcbind"},
		{"--rdma-rpcbind", ":112", syscall.EADDRINUSE, "; another server may have it: choose another port with --rdma-rpcbind"},
	} {
		got := daemon.ListenError(tt.flag, tt.addr, &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", tt.err)})
		if want := tt.flag + " " + tt.addr + ": " + tt.err.Error() + tt.want; got.Error() != want || !errors.Is(got, tt.err) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHost(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"192.0.2.1":   "192.0.2.1",
		"2001:db8::1": "[2001:db8::1]",
		"0.0.0.0":     name,
		"::":          name,
	} {
		if got := serve.HostAt(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestServeOutputLost: a server that cannot print its greeting does not serve.
func TestServeOutputLost(t *testing.T) {
	stderr := newTranscript()
	code := run(t.Context(), []string{"serve", "--memory", "/m", "--listen", "127.0.0.1:0", "--mount", "none"}, full{}, stderr)
	if code != cli.ExitFailed || !strings.Contains(stderr.String(), errFull.Error()) {
		t.Errorf("exit %d: %v", code, stderr)
	}
}
