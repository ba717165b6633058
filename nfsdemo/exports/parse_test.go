package exports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/exports"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// hosts is the database for look-ups.
type hosts map[string][]netip.Addr

func (h hosts) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	if a, ok := h[host]; ok && network == "ip" {
		return a, nil
	}
	return nil, errors.New("no such host")
}

// known are the hosts in the tests.
var known = hosts{
	"build.example.com": {netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("::ffff:192.0.2.10")},
	"empty.example.com": {},
}

// rulesOf describes a file, with a line for each export and each rule.
func rulesOf(t *testing.T, file string) string {
	t.Helper()
	list, err := exports.Parse(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "%q", x.Path)
		if x.Memory {
			b.WriteString(" memory")
		}
		if x.CrossMnt {
			b.WriteString(" crossmnt")
		}
		if x.MountPoint != "" {
			fmt.Fprintf(&b, " mp=%s", x.MountPoint)
		}
		b.WriteString("\n")
		rules, err := x.Rules(t.Context(), known)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			fmt.Fprintf(&b, "  %v %s%s %d:%d", r.Clients,
				accessOf(nfsserver.Access{ReadOnly: r.ReadOnly, Squash: r.Squash}),
				map[bool]string{true: "", false: " insecure"}[r.Privileged], r.Anon.UID, r.Anon.GID)
			if len(r.Flavors) > 0 {
				b.WriteString(" " + mount3.FormatFlavors(r.Flavors))
			}
			for _, f := range r.Flavors {
				if a, ok := r.PerFlavor[f]; ok {
					fmt.Fprintf(&b, " %v=%s", f, accessOf(a))
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// accessOf returns "ro", "rw,none" and the like.
func accessOf(a nfsserver.Access) string {
	return map[bool]string{true: "ro", false: "rw"}[a.ReadOnly] +
		map[nfsserver.Squash]string{nfsserver.SquashNone: ",none", nfsserver.SquashAll: ",all"}[a.Squash]
}

// TestParse: files as in exports(5), including its own examples.
func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "\n  # a comment\n\t\n", ""},
		{"the least", "/srv", "\"/srv\"\n  [] ro 65534:65534\n"},
		{"for all", "/srv *(rw)", "\"/srv\"\n  [] rw 65534:65534\n"},
		{"options without a client", "/srv (rw,insecure)", "\"/srv\"\n  [] rw insecure 65534:65534\n"},
		{"a comment behind", "/srv *(rw) # why", "\"/srv\"\n  [] rw 65534:65534\n"},
		{"addresses", "/srv 192.0.2.1 2001:db8::1(rw)",
			"\"/srv\"\n  [192.0.2.1/32] ro 65534:65534\n  [2001:db8::1/128] rw 65534:65534\n"},
		{"networks", "/srv 192.0.2.9/24 10.0.0.0/255.0.0.0(rw) 2001:db8::/32 0.0.0.0/0",
			"\"/srv\"\n  [192.0.2.0/24] ro 65534:65534\n  [10.0.0.0/8] rw 65534:65534\n" +
				"  [2001:db8::/32] ro 65534:65534\n  [0.0.0.0/0] ro 65534:65534\n"},
		{"a host", "/srv build.example.com(rw)",
			"\"/srv\"\n  [192.0.2.9/32 192.0.2.10/32] rw 65534:65534\n"},
		{"order of kinds", "/srv *(ro) 192.0.2.0/24(rw) build.example.com(all_squash) 192.0.2.7(no_root_squash)",
			"\"/srv\"\n  [192.0.2.9/32 192.0.2.10/32] ro,all 65534:65534\n  [192.0.2.7/32] ro,none 65534:65534\n" +
				"  [192.0.2.0/24] rw 65534:65534\n  [] ro 65534:65534\n"},
		{"an address before a network without another", "/srv 10.0.0.1/32(rw) 10.0.0.1",
			"\"/srv\"\n  [10.0.0.1/32] ro 65534:65534\n  [10.0.0.1/32] rw 65534:65534\n"},
		{"squashing", "/srv *(rw,all_squash,anonuid=150,anongid=100) 10.0.0.1(anonuid=-2,all_squash,no_all_squash)",
			"\"/srv\"\n  [10.0.0.1/32] ro 4294967294:65534\n  [] rw,all 150:100\n"},
		{"squashing with a flavour", "/srv *(sec=sys,all_squash,no_root_squash)",
			"\"/srv\"\n  [] ro,all 65534:65534 sys\n"},
		{"squashed to the superuser", "/srv *(all_squash,anonuid=0,anongid=0)",
			"\"/srv\"\n  [] ro,all 0:0\n"},
		{"the greatest numbers", "/srv *(anonuid=4294967294,anongid=4294967294)",
			"\"/srv\"\n  [] ro 4294967294:4294967294\n"},
		{"options for those that follow", "/srv -rw,anonuid=5 10.0.0.1 10.0.0.2(ro) -insecure 10.0.0.3",
			"\"/srv\"\n  [10.0.0.1/32] rw 5:65534\n  [10.0.0.2/32] ro 5:65534\n" +
				"  [10.0.0.3/32] rw insecure 5:65534\n"},
		{"a path in quotes", "\"/srv/with space\" *(rw)\n/srv/a\\040b\\043",
			"\"/srv/with space\"\n  [] rw 65534:65534\n\"/srv/a b#\"\n  [] ro 65534:65534\n"},
		{"bytes in octal", "/\\001\\070\\107\\377",
			"\"/\\x018G\\xff\"\n  [] ro 65534:65534\n"},
		{"no bytes in octal", "/\\400\\080\\008\\0/0\\00/\\/00\\04",
			"\"/\\\\400\\\\080\\\\008\\\\0/0\\\\00/\\\\/00\\\\04\"\n  [] ro 65534:65534\n"},
		{"a line that goes on", "/srv \\\n  10.0.0.1(rw) \\\n  10.0.0.2",
			"\"/srv\"\n  [10.0.0.1/32] rw 65534:65534\n  [10.0.0.2/32] ro 65534:65534\n"},
		{"a path on two lines", "/srv 10.0.0.1\n/other\n/srv/ 10.0.0.2(rw)",
			"\"/srv\"\n  [10.0.0.1/32] ro 65534:65534\n  [10.0.0.2/32] rw 65534:65534\n\"/other\"\n  [] ro 65534:65534\n"},
		{"what changes nothing", "/srv *(rw,sync,no_subtree_check,subtree_check," +
			"fsid=0,fsid=root,wdelay,nohide,no_pnfs,)",
			"\"/srv\"\n  [] rw 65534:65534\n"},
		{"a flavour", "/srv *(sec=sys)", "\"/srv\"\n  [] ro 65534:65534 sys\n"},
		{"flavours in their order", "/srv *(sec=krb5p:krb5:krb5i:sys:none,rw)",
			"\"/srv\"\n  [] rw 65534:65534 krb5p:krb5:krb5i:sys:none\n"},
		{"options around flavours", "/srv *(no_root_squash,sec=krb5,rw) 10.0.0.1(sec=krb5,rw,no_root_squash)",
			"\"/srv\"\n  [10.0.0.1/32] rw,none 65534:65534 krb5\n  [] rw,none 65534:65534 krb5\n"},
		{"other options for some flavours", "/srv *(insecure,sec=krb5:krb5p,rw,no_root_squash,sec=sys,ro,all_squash,anonuid=7)",
			"\"/srv\"\n  [] ro insecure 7:65534 krb5:krb5p:sys krb5=rw,none krb5p=rw,none sys=ro,all\n"},
		{"options before all flavours", "/srv *(rw,sec=krb5,all_squash,no_all_squash,sec=sys,ro)",
			"\"/srv\"\n  [] rw 65534:65534 krb5:sys krb5=rw sys=ro\n"},
		{"what follows a flavour is not for the next", "/srv *(sec=krb5,rw,sec=sys)",
			"\"/srv\"\n  [] ro 65534:65534 krb5:sys krb5=rw\n"},
		{"a flavour again", "/srv *(sec=krb5:sys,rw,sec=sys,ro)",
			"\"/srv\"\n  [] ro 65534:65534 krb5:sys krb5=rw sys=ro\n"},
		{"flavours for those that follow", "/srv -sec=krb5,rw 10.0.0.1 10.0.0.2(ro) 10.0.0.3(sec=sys) 10.0.0.1(sec=sys,ro)",
			"\"/srv\"\n  [10.0.0.1/32] rw 65534:65534 krb5\n  [10.0.0.2/32] ro 65534:65534 krb5\n" +
				"  [10.0.0.3/32] rw 65534:65534 sys\n  [10.0.0.1/32] ro 65534:65534 sys\n"},
		{"an option over those of flavours", "/srv -sec=krb5,rw,sec=sys,ro,all_squash 10.0.0.1(ro) 10.0.0.2 10.0.0.3(root_squash,sec=krb5)",
			"\"/srv\"\n  [10.0.0.1/32] ro 65534:65534 krb5:sys krb5=ro sys=ro,all\n" +
				"  [10.0.0.2/32] ro 65534:65534 krb5:sys krb5=rw sys=ro,all\n  [10.0.0.3/32] ro 65534:65534 krb5\n"},
		{"of the path", "/m *(rw,memory)\n/a *(crossmnt,mp)\n" +
			"/b *(crossmnt,mountpoint=/srv/disk/,nocrossmnt)",
			"\"/m\" memory\n  [] rw 65534:65534\n\"/a\" crossmnt mp=/a\n  [] ro 65534:65534\n\"/b\" mp=/srv/disk\n  [] ro 65534:65534\n"},
	} {
		if diff := cmp.Diff(tt.want, rulesOf(t, tt.file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestParseErrors: an error names the line.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"srv *(rw)", `"srv" is not an absolute path`},
		{"/" + strings.Repeat("x", 1024), "longer than 1024 bytes"},
		{"/srv *(rw", "without spaces"},
		{"/srv *(rw, ro)", "without spaces"},
		{"/srv *(rw)(ro)", "without spaces"},
		{"/srv *(rw,fast)", "option fast: it is not known"},
		{"/srv *(async)", "data that is answered for would be lost"},
		{"/srv *(sec=krb4)", `option sec=krb4: "krb4" is no flavour`},
		{"/srv *(sec=)", `option sec=: "" is no flavour`},
		{"/srv *(sec)", "option sec: it is not known"},
		{"/srv *(sec=sys:)", `option sec=sys:: "" is no flavour`},
		{"/srv *(sec=sys:krb5:sys)", "option sec=sys:krb5:sys: sys is there twice"},
		{"/srv *(sec=SYS)", `"SYS" is no flavour`},
		{"/srv *(sec=390003)", `"390003" is no flavour`},
		{"/srv *(sec=krb5;krb5p)", "is no flavour"},
		{"/srv -sec=spkm3 *", "option sec=spkm3"},
		{"/srv *(anonuid=-1)", "write a number"},
		{"/srv *(anongid=4294967295)", "write a number"},
		{"/srv *(mp=disk)", "not an absolute path"},
		{"/srv *.example.com", "wildcards"},
		{"/srv 192.168.*.*", "wildcards"},
		{"/srv @trusted(rw)", "netgroups"},
		{"/srv gss/krb5", "sec=krb5 among their options"},
		{"/srv 192.0.2.0/33", "not a network"},
		{"/srv 192.0.2.0/255.0.255.0", "not a network"},
		{"/srv 2001:db8::/255.0.0.0", "not a network"},
		{"/srv ::ffff:192.0.2.0/120", "not a network"},
		{"/srv hö.example.com", "neither an address"},
		{"/srv fe80::1%eth0", "neither an address"},
		{"\"/srv *(rw)", "quotes are not closed"},
		{"/srv\\000", "NUL"},
		{"/srv *(memory) 10.0.0.1(rw)", "in memory for some clients"},
		{"/srv 10.0.0.1(crossmnt) *", "crossmnt for some clients and not for others"},
		{"/srv -crossmnt 10.0.0.1 *(nocrossmnt)", "crossmnt for some clients"},
		{"/srv -fast *", "option fast"},
	} {
		_, err := exports.Parse(strings.NewReader("# one\n/ok \\\n *\n" + tt.line + "\n"))
		var e *exports.Error
		if !errors.As(err, &e) || e.Line != 4 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
	}
}

// TestErrorLines: an error has the line of its word.
func TestErrorLines(t *testing.T) {
	for _, tt := range []struct {
		file string
		line int
	}{
		{"# \\\n\\\n\\\n/srv \\\n 10.0.0.1 \\\n \\\n @x", 7},
		{"/srv \\\n 10.0.0.1 \\\n 10.0.0.2(memory) \\\n 10.0.0.3", 3},
		{"/srv *\n/b \\\n -fast", 3},
		{"\\\nsrv", 2},
		{"/srv *\n\n/a \\\n\\\n \"*", 5},
		{"/srv *\n/b 10.0.0.1 \\\n unknown.example.com", 3},
		{"/srv *\n/b 10.0.0.1\n/b \\\n empty.example.com", 4},
	} {
		list, err := exports.Parse(strings.NewReader(tt.file))
		if err == nil {
			_, err = list[1].Rules(t.Context(), known)
		}
		var e *exports.Error
		if !errors.As(err, &e) || e.Line != tt.line {
			t.Errorf("%q: %v, want line %d", tt.file, err, tt.line)
		}
	}
}

// TestParseReadError: what has come before an error of the reader counts for nothing.
func TestParseReadError(t *testing.T) {
	broken := errors.New("broken")
	for _, file := range []string{"", "/srv *\n", "/srv *(rw", "/srv \"", "# x"} {
		list, err := exports.Parse(io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken)))
		if list != nil || !errors.Is(err, broken) {
			t.Errorf("%q: %v, %v", file, list, err)
		}
	}
	// An error that comes once, behind a character that is looked at together with the next one.
	list, err := exports.Parse(iotest.TimeoutReader(strings.NewReader("/srv *\r")))
	if list != nil || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestWarnings: lines that do what exports(5) says, and hardly what is meant.
func TestWarnings(t *testing.T) {
	apart := func(client string) string {
		return strconv.Quote(client+" (rw)") + ": because of the blank, (rw) is for everybody, not for " +
			client + ": remove the blank, or write *(rw)"
	}
	covered := func(client, by string, line int) string {
		return fmt.Sprintf("%q never counts: %q in line %d comes first, and is for the same hosts",
			client, by, line)
	}
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"/srv 10.0.0.1(rw) 192.0.2.0/24 build.example.com *(ro)\n/b *\n/c (rw)\n/d -rw\n", nil},
		{"# x\n/srv 10.0.0.1 \\\n (rw)\n", []string{"line 3: " + apart("10.0.0.1")}},
		{"/srv 10.0.0.1(ro) (rw)", []string{"line 1: " + apart("10.0.0.1(ro)")}},
		{"/srv 10.0.0.1\n/srv (rw)\n", nil},
		{"/srv * (rw)", []string{"line 1: " + apart("*"),
			"line 1: " + covered("(rw)", "*", 1)}},
		{"/srv *(rw) *(ro)", []string{"line 1: " + covered("*(ro)", "*(rw)", 1)}},
		{"/srv *(rw)\n/b *\n/srv\n", []string{"line 3: " + covered("*", "*(rw)", 1)}},
		{"/srv 10.0.0.0/8(rw) \\\n10.1.0.0/16(ro)",
			[]string{"line 2: " + covered("10.1.0.0/16(ro)", "10.0.0.0/8(rw)", 1)}},
		{"/srv 10.1.0.0/16 10.0.0.0/8 10.1.2.3 0.0.0.0/0 ::/0 *", nil},
		{"/srv 10.0.0.1 10.0.0.2/32 ::ffff:10.0.0.1(rw) 2001:db8::1 10.0.0.2/32(rw)",
			[]string{"line 1: " + covered("::ffff:10.0.0.1(rw)", "10.0.0.1", 1),
				"line 1: " + covered("10.0.0.2/32(rw)", "10.0.0.2/32", 1)}},
		{"/srv 10.0.0.1 10.0.0.1/32", []string{"line 1: " + covered("10.0.0.1/32", "10.0.0.1", 1)}},
		{"/srv 127.0.0.0/8(ro) \\\n127.0.0.1(rw) 127.0.0.2 126.0.0.0/7 ::1 ::1/127", []string{
			"line 2: " + covered("127.0.0.2", "127.0.0.1(rw)", 2),
			"line 1: " + covered("127.0.0.0/8(ro)", "127.0.0.1(rw)", 2)}},
		{"/srv build.example.com Build.example.com(rw) 192.0.2.9",
			[]string{"line 1: " + covered("Build.example.com(rw)", "build.example.com", 1)}},
	} {
		list, err := exports.Parse(strings.NewReader(tt.file))
		if err != nil {
			t.Errorf("%q: %v", tt.file, err)
			continue
		}
		var got []string
		for _, x := range list {
			for _, w := range x.Warnings {
				got = append(got, w.String())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.file, diff)
		}
	}
}

// FuzzParse: whatever is in the file, each export has a path and clients.
func FuzzParse(f *testing.F) {
	f.Add("/srv 192.0.2.0/24(rw,no_root_squash) build.example.com *(ro)\n")
	f.Add("\"/a b\"\\\n -rw,mp=/x @y # z\n/c\\040 (memory,anonuid=-2)")
	f.Add("/a *(ro) (rw) # \\\n\\\n/b\\\n\t\"x\\\n y\"\r\n/c\\134040 -rw \\")
	f.Fuzz(func(t *testing.T, file string) {
		last := strings.Count(file, "\n") + 1
		list, err := exports.Parse(strings.NewReader(file))
		if err != nil && list != nil {
			t.Errorf("%v and %v", list, err)
		}
		var e *exports.Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Line > last) {
			t.Errorf("%v in a file of %d lines", err, last)
		}
		seen := make(map[string]bool)
		for _, x := range list {
			if !strings.HasPrefix(x.Path, "/") || len(x.Clients) == 0 || seen[x.Path] {
				t.Errorf("%+v", x)
			}
			seen[x.Path] = true
			for _, c := range x.Clients {
				if c.Line < 1 || c.Line > last {
					t.Errorf("line %d in a file of %d lines: %+v", c.Line, last, c)
				}
			}
		}
	})
}
