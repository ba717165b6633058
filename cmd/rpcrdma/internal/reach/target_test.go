package reach

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestParseTarget(t *testing.T) {
	tests := []struct {
		name string
		url  string
		want Target
		text string // of want; "": url
	}{
		{"RDMA", "rdma://host/export/file", Target{"rdma", "host", 20049, "/export/file", 0, 0, 0, false, 0}, ""},
		{"TCP", "tcp://host/export/file", Target{"tcp", "host", 20048, "/export/file", 0, 0, 0, false, 0}, ""},
		{"a port", "rdma://host:700/x", Target{"rdma", "host", 700, "/x", 0, 0, 0, false, 0}, ""},
		{"the port that it is anyway", "tcp://host:20048/x", Target{"tcp", "host", 20048, "/x", 0, 0, 0, false, 0}, "tcp://host/x"},
		{"the other's port", "tcp://host:20049/x", Target{"tcp", "host", 20049, "/x", 0, 0, 0, false, 0}, ""},
		{"a colon without a port", "rdma://host:/x", Target{"rdma", "host", 20049, "/x", 0, 0, 0, false, 0}, "rdma://host/x"},
		{"mountport", "rdma://host/x?mountport=892", Target{"rdma", "host", 20049, "/x", 892, 0, 0, false, 0}, ""},
		{"mountport without a path", "rdma://host?mountport=892", Target{"rdma", "host", 20049, "/", 892, 0, 0, false, 0}, "rdma://host/?mountport=892"},
		{"rpcbind", "rdma://host/x?rpcbind", Target{"rdma", "host", 0, "/x", 0, 111, 0, false, 0}, ""},
		{"rpcbind, TCP", "tcp://host/x?rpcbind", Target{"tcp", "host", 0, "/x", 0, 111, 0, false, 0}, ""},
		{"rpcbind at a port", "rdma://host/x?rpcbind=20048", Target{"rdma", "host", 0, "/x", 0, 20048, 0, false, 0}, ""},
		{"rpcbind at its port", "rdma://host/x?rpcbind=111", Target{"rdma", "host", 0, "/x", 0, 111, 0, false, 0}, "rdma://host/x?rpcbind"},
		{"rpcbind without a path", "rdma://[::1]?rpcbind", Target{"rdma", "::1", 0, "/", 0, 111, 0, false, 0}, "rdma://[::1]/?rpcbind"},
		{"rpcbind and mountport", "rdma://host/x?mountport=892&rpcbind=700", Target{"rdma", "host", 0, "/x", 892, 700, 0, false, 0}, ""},
		{"mountport behind rpcbind", "rdma://host/x?rpcbind&mountport=892", Target{"rdma", "host", 0, "/x", 892, 111, 0, false, 0},
			"rdma://host/x?mountport=892&rpcbind"},
		{"rpcbind, and a colon without a port", "rdma://host:/x?rpcbind", Target{"rdma", "host", 0, "/x", 0, 111, 0, false, 0}, "rdma://host/x?rpcbind"},
		{"TLS", "tcp://host/x?tls", Target{"tcp", "host", 20048, "/x", 0, 0, 0, true, 0}, ""},
		{"NFS", "nfs://host/x", Target{"tcp", "host", 0, "/x", 0, 111, 0, false, 0}, "tcp://host/x?rpcbind"},
		{"NFS at a port", "NFS://host:2049/x", Target{"tcp", "host", 2049, "/x", 0, 0, 0, false, 0}, "tcp://host:2049/x"},
		{"NFS, and rpcbind at a port", "nfs://host/x?rpcbind=700&tls", Target{"tcp", "host", 0, "/x", 0, 700, 0, true, 0}, "tcp://host/x?rpcbind=700&tls"},
		{"TLS, and rpcbind", "tcp://host/x?tls&rpcbind", Target{"tcp", "host", 0, "/x", 0, 111, 0, true, 0}, "tcp://host/x?rpcbind&tls"},
		{"Kerberos", "rdma://host/x?sec=krb5", Target{"rdma", "host", 20049, "/x", 0, 0, 0, false, 390003}, ""},
		{"AUTH_SYS", "tcp://host/x?sec=sys", Target{"tcp", "host", 20048, "/x", 0, 0, 0, false, 1}, ""},
		{"Kerberos, before others", "nfs://host/x?sec=krb5p&tls&mountport=9", Target{"tcp", "host", 0, "/x", 9, 111, 0, true, 390005},
			"tcp://host/x?mountport=9&rpcbind&tls&sec=krb5p"},
		{"no path", "rdma://host", Target{"rdma", "host", 20049, "/", 0, 0, 0, false, 0}, "rdma://host/"},
		{"the root", "rdma://host/", Target{"rdma", "host", 20049, "/", 0, 0, 0, false, 0}, ""},
		{"a slash at the end", "rdma://host/x/", Target{"rdma", "host", 20049, "/x/", 0, 0, 0, false, 0}, ""},
		{"slashes", "rdma://host//x///y//", Target{"rdma", "host", 20049, "/x/y/", 0, 0, 0, false, 0}, "rdma://host/x/y/"},
		{"detours", "rdma://host/x/./y/../z", Target{"rdma", "host", 20049, "/x/z", 0, 0, 0, false, 0}, "rdma://host/x/z"},
		{"a detour at the end", "rdma://host/x/y/..", Target{"rdma", "host", 20049, "/x/", 0, 0, 0, false, 0}, "rdma://host/x/"},
		{"a detour above the root", "rdma://host/../..", Target{"rdma", "host", 20049, "/", 0, 0, 0, false, 0}, "rdma://host/"},
		{"encoded detours", "rdma://host/x/%2e%2E/y", Target{"rdma", "host", 20049, "/y", 0, 0, 0, false, 0}, "rdma://host/y"},
		{"a capital scheme", "RDMA://host/x", Target{"rdma", "host", 20049, "/x", 0, 0, 0, false, 0}, "rdma://host/x"},
		{"IPv4", "tcp://192.0.2.1:2049/x", Target{"tcp", "192.0.2.1", 2049, "/x", 0, 0, 0, false, 0}, ""},
		{"IPv6", "rdma://[::1]/x", Target{"rdma", "::1", 20049, "/x", 0, 0, 0, false, 0}, ""},
		{"IPv6 and a port", "rdma://[2001:db8::1]:700/x", Target{"rdma", "2001:db8::1", 700, "/x", 0, 0, 0, false, 0}, ""},
		{"an IPv6 zone", "rdma://[fe80::1%25eth0]:700/x", Target{"rdma", "fe80::1%eth0", 700, "/x", 0, 0, 0, false, 0}, ""},
		{"a zone as people write it", "rdma://[fe80::1%eth0]/x", Target{"rdma", "fe80::1%eth0", 20049, "/x", 0, 0, 0, false, 0}, "rdma://[fe80::1%25eth0]/x"},
		{"encoded characters", "rdma://host/a%20b%3Fc%23d%25e", Target{"rdma", "host", 20049, "/a b?c#d%e", 0, 0, 0, false, 0}, ""},
		{"small digits", "rdma://host/%ff", Target{"rdma", "host", 20049, "/\xff", 0, 0, 0, false, 0}, "rdma://host/%FF"},
		{"an encoded percent sign", "rdma://host/a%252Fb", Target{"rdma", "host", 20049, "/a%2Fb", 0, 0, 0, false, 0}, ""},
		{"what need not be encoded", "rdma://host/a%41", Target{"rdma", "host", 20049, "/aA", 0, 0, 0, false, 0}, "rdma://host/aA"},
		{"a space as it is", "rdma://host/a b", Target{"rdma", "host", 20049, "/a b", 0, 0, 0, false, 0}, "rdma://host/a%20b"},
		{"UTF-8", "rdma://host/Übergröße/日本", Target{"rdma", "host", 20049, "/Übergröße/日本", 0, 0, 0, false, 0}, ""},
		{"Latin-1", "rdma://host/\xdcber", Target{"rdma", "host", 20049, "/\xdcber", 0, 0, 0, false, 0}, "rdma://host/%DCber"},
		{"a terminal's commands", "rdma://host/%1B[2J%0A", Target{"rdma", "host", 20049, "/\x1b[2J\n", 0, 0, 0, false, 0}, "rdma://host/%1B%5B2J%0A"},
		{"signs that are allowed", "rdma://host/a-b._~!$&'()*+,;=:@c", Target{"rdma", "host", 20049, "/a-b._~!$&'()*+,;=:@c", 0, 0, 0, false, 0}, ""},
		{"a URL in a path", "rdma://host/a://b", Target{"rdma", "host", 20049, "/a:/b", 0, 0, 0, false, 0}, "rdma://host/a:/b"},
	}
	for _, tt := range tests {
		got, err := ParseTarget(tt.url)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
		text := tt.text
		if text == "" {
			text = tt.url
		}
		if got.String() != text {
			t.Errorf("%s: printed as %s, want %s", tt.name, got, text)
		}
	}
}

// TestTargetServer: the URL that names the server can be parsed again.
func TestTargetServer(t *testing.T) {
	for url, want := range map[string]string{
		"rdma://host":                                "rdma://host",
		"rdma://host:700/x?mountport=5":              "rdma://host:700",
		"tcp://[::1]/x?rpcbind":                      "tcp://[::1]?rpcbind",
		"tcp://host/x?sec=krb5&mountport=7":          "tcp://host?sec=krb5",
		"rdma://[fe80::1%25eth0]?rpcbind=7":          "rdma://[fe80::1%25eth0]?rpcbind=7",
		"rdma://host/x/y?mountport=5&rpcbind=7":      "rdma://host?rpcbind=7",
		"rdma://host/x/y?rpcbind=111&mountport=2049": "rdma://host?rpcbind",
	} {
		got, err := ParseTarget(url)
		if err != nil || got.Server() != want {
			t.Errorf("%s: got %s, %v, want %s", url, got.Server(), err, want)
		}
	}
}

func TestParseTargetErrors(t *testing.T) {
	tests := []struct{ url, want string }{
		{"", "not a URL"},
		{"host:/export", "not a URL: write rdma://HOST/EXPORT/PATH"},
		{"smb://host/x", "unknown scheme smb"},
		{"://host/x", `unknown scheme ""`},
		{"rdma://", "no host: write rdma://HOST"},
		{"rdma:///x", "no host"},
		{"nfs:///x", "no host: write nfs://HOST"},
		{"tcp://:700/x", "no host: write tcp://HOST"},
		{"rdma://me@host/x", "cannot name a user"},
		{"rdma://me:secret@host/x", "cannot name a user"},
		{"rdma://host/x#y", "write %23 for a # in a name"},
		{"rdma://host/x?", "no option follows the ?: write %3F for a ? in a name"},
		{"rdma://host/x?y", "unknown option y: the options are mountport=N, rpcbind, sec=FLAVOUR, and for tcp:// tls; write %3F for a ? in a name"},
		{"rdma://host/x?sec", `sec: unknown flavour "": write sys, krb5, krb5i (with checksums) or krb5p (encrypted)`},
		{"rdma://host/x?sec=krb6", "sec: unknown flavour krb6"},
		{"rdma://host/x?sec=none", "sec: unknown flavour none"},
		{"rdma://host/x?sec=krb5:sys", "sec: unknown flavour krb5:sys"},
		{"rdma://host/x?sec=sys&sec=krb5", "sec is given twice"},
		{"rdma://host/x?mountport=1&ro", "unknown option ro"},
		{"rdma://host/x?mountport=1&mountport=2", "given twice"},
		{"rdma://host/x?rpcbind&rpcbind=1", "rpcbind is given twice"},
		{"rdma://host/x?rpcbind=", `rpcbind: "" is not a port`},
		{"rdma://host/x?rpcbind=0", "rpcbind: 0 is not a port"},
		{"rdma://host/x?rpcbind=65536", "rpcbind: 65536 is not a port"},
		{"rdma://host/x?rpcbind=tcp", "rpcbind: tcp is not a port"},
		{"rdma://host/x?Rpcbind", "unknown option Rpcbind"},
		{"rdma://host:700/x?rpcbind", "the URL names port 700 and asks rpcbind for the port: write only one of them"},
		{"rdma://host:20049/x?rpcbind=700", "the URL names port 20049 and asks rpcbind"},
		{"rdma://host/x?mountport", `mountport: "" is not a port`},
		{"rdma://host/x?mountport=0", "mountport: 0 is not a port"},
		{"rdma://host/x?mountport=65536", "mountport: 65536 is not a port"},
		{"rdma://host:0/x", "0 is not a port"},
		{"rdma://host:-1/x", "-1 is not a port"},
		{"rdma://host:nfs/x", "nfs is not a port: write a number"},
		{"rdma://::1/x", "in brackets"},
		{"rdma://[::1/x", "write an IPv6 address as [2001:db8::1]"},
		{"rdma://[::1]700/x", "write an IPv6 address as [2001:db8::1]"},
		{"rdma://[192.0.2.1]/x", "192.0.2.1 is not an IPv6 address"},
		{"rdma://[host]/x", "host is not an IPv6 address"},
		{"rdma://ho st/x", "ho st is not the name of a host"},
		{"rdma://ho%20st/x", "ho%20st is not the name of a host"},
		{"rdma://host/100%", "write %25 for a % in a name"},
		{"rdma://host/%2", "write %25 for a % in a name"},
		{"rdma://host/%zz", "write %25 for a % in a name"},
		{"rdma://host/%2g", "write %25 for a % in a name"},
		{"rdma://host/a%00b", "zero byte"},
		{"rdma://host/a%2Fb", "a name cannot contain a slash"},
		{"rdma://host/%2f", "a name cannot contain a slash"},
		{"rdma://host/a\x00b", "zero byte"},
	}
	for _, tt := range tests {
		got, err := ParseTarget(tt.url)
		if !errors.As(err, new(cli.UsageError)) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %+v, %v, want a usage error with %q", tt.url, got, err, tt.want)
		}
	}
}

func TestIsURL(t *testing.T) {
	for s, want := range map[string]bool{
		"rdma://host": true, "tcp://": true, "nfs://x": true, "RDMA://h": true,
		"": false, "file": false, "://x": false, "./rdma://x": false, "a/b://c": false, "-": false, `C:\x`: false,
	} {
		if got := IsURL(s); got != want {
			t.Errorf("%q: got %t, want %t", s, got, want)
		}
	}
}

// FuzzTarget: a parsed URL prints as one that parses to the same Target, with a path of any bytes.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"rdma://host/export/a%20b?mountport=9", "tcp://[fe80::1%25eth0]:2049/", "rdma://host//x/../y/.", "tcp://h:1/%FF\xfe/é", "rdma://h/x?rpcbind=9&mountport=8", "rdma://h?rpcbind", "rdma://h?sec=krb5i&rpcbind=7", "rdma://[::1%252525]",
		"/a b\n\x00", "", "rdma://h/%2F%2e%2e",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := Unescape(Escape(s)); got != s || err != nil {
			t.Errorf("path %q: got %q, %v", s, got, err)
		}
		for _, url := range []string{s, "rdma://" + s, "tcp://host" + Escape("/"+s)} {
			first, err := parseURL(url)
			if err != nil {
				continue
			}
			text := first.String()
			again, err := parseURL(text)
			if err != nil || again != first || again.String() != text {
				t.Errorf("%q is %+v, prints as %q, and that is %+v, %v", url, first, text, again, err)
			}
			if strings.ContainsAny(text, " \n\x1b#") {
				t.Errorf("%q prints as %q", url, text)
			}
		}
	})
}
