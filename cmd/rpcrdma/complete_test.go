package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestComplete(t *testing.T) {
	r := startRig(t)
	m := mountAs(t, dialTCP(t, r.tcp), 0, "/memory")
	for _, name := range []string{"one", "other", ".hidden", "a b", "a%b", "zwölf", "\xff", "semi;colon"} {
		m.put(t, name, nil)
	}
	for _, args := range []string{"mkdir -m 700 @/memory/dir @/memory/dir/sub @/memory/ordner", "ln -s dir @/memory/link", "touch @/memory/dir/file"} {
		if got := r.exec(t, "tcp", strings.Fields(args)...); got.code != cli.ExitOK {
			t.Fatalf("%+v", got)
		}
	}
	for _, scheme := range schemes {
		for _, tt := range []struct {
			args string // the last is being written
			want string // with spaces between words, and what the shell does with them
		}{
			{"ls @/memory/o", "@/memory/one @/memory/ordner/ @/memory/other :6"},
			{"ls @/memory/on", "@/memory/one :4"},
			{"ls @/memory/or", "@/memory/ordner/ :6"},
			{"ls @/memory/dir", "@/memory/dir/ :6"},
			{"ls @/memory/dir/", "@/memory/dir/file @/memory/dir/sub/ :6"},
			{"ls @/memory/link/f", "@/memory/link/file :4"},
			{"ls @/memory/.", "@/memory/.hidden :4"},
			{"ls @/memory/a", "@/memory/a%20b @/memory/a%25b :4"},
			{"ls @/memory/a%", "@/memory/a%20b @/memory/a%25b :4"},
			{"ls @/memory/a%2", "@/memory/a%20b @/memory/a%25b :4"},
			{"ls @/memory/a%25", "@/memory/a%25b :4"},
			{"ls @/memory/%6F", "@/memory/%6Fne @/memory/%6Frdner/ @/memory/%6Fther :6"},
			{"ls @/memory/z", "@/memory/zwölf :4"},
			{"ls @/memory/zw%C3", "@/memory/zw%C3%B6lf :4"},
			{"ls @/memory/%f", "@/memory/%fF :4"},
			{"ls @/memory/s", "@/memory/semi%3Bcolon :4"},
			{"ls @/memory/x", ":4"},
			{"ls @/memory/%zz", ":4"},
			{"ls @/memory/none/", ":4"},
			{"ls @/memory/one/", ":4"},
			{"ls @/me", "@/memory/ :6"},
			{"ls @/none/", ":4"},
			{"ls @/memory/o?mountport=1", ":4"},
			{"ls @/memory/o?mount", "@/memory/o?mountport= :6"},
			{"ls @/memory?sec=k", "@/memory?sec=krb5 @/memory?sec=krb5i @/memory?sec=krb5p :4"},
			{"ls @/memory?mountport=1&s", "@/memory?mountport=1&sec=sys @/memory?mountport=1&sec=krb5 " +
				"@/memory?mountport=1&sec=krb5i @/memory?mountport=1&sec=krb5p :4"},
			{"ls @/memory?sec=krb5&s", ":4"},
			{"ls rdma://h?tl", ":4"},
			{"ls tcp://h?tl", "tcp://h?tls :4"},
			{"ls rdma://ho", ":4"},
			{"ls r", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"ls x", ":6"},
			{"ls --uid 7 @/memory/dir/", ":4"}, // who may not list it
			{"mv @/memory/one @/memory/ot", "@/memory/other :4"},
			{"chmod r", ":4"},
			{"chmod 644 @/memory/on", "@/memory/one :4"},
			{"chown 1 t", "tcp:// :6"},
			{"get @/memory/on", "@/memory/one :4"},
			{"get @/memory/one loc", ":0"},
			{"put loc", ":0"},
			{"put local @/memory/d", "@/memory/dir/ :6"},
			{"put local r", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"touch -r @/memory/on", "@/memory/one :4"},
			{"ls --crc ", "auto on off :4"},
			{"serve --squash ", "root all none :4"},
			{"serve --sec ", "sys krb5 krb5i krb5p :4"},
			{"serve --log-level ", "debug info warn error :4"},
			{"serve --provider ", "iwarp roce sctp :4"},
			{"serve --provider iwarp,r", "iwarp,roce iwarp,sctp :4"},
			{"serve --dialect ", "rfc8166 draft :4"},
			{"serve --conf ", "off any sys gss :4"},
			{"ls --dialect ", "rfc8166 draft :4"},
			{"gateway --dialect=", "rfc8166 draft :4"},
			{"probe r", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"probe tcp://h ", ":4"},
			{"conf ", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"conf r", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"conf t", ":4"},
			{"conf rdma://h", ":4"},
			{"conf rdma://h r", ":4"},
			{"conf --program ", "both draft rfc5666 :4"},
			{"demo --provider ", "iwarp loopback roce sctp :4"},
			{"gateway --crc=", "auto on off :4"},
			{"gateway --to ", "rdma:// rdma+roce:// rdma+sctp:// tcp:// nfs:// :6"},
			{"gateway --to r", "rdma:// rdma+roce:// rdma+sctp:// :6"},
			{"gateway --to rdma://h", ":6"},
		} {
			got := r.exec(t, scheme, append([]string{"__complete"}, strings.Split(tt.args, " ")...)...)
			if words := strings.Join(strings.Fields(got.stdout), " "); got.code != cli.ExitOK || words != tt.want {
				t.Errorf("%s over %s: exit %d, %s, want %s", tt.args, scheme, got.code, words, tt.want)
			}
		}
	}
	if got := r.exec(t, "rdma", "__complete", "ls", ""); got.stdout != "rdma://\nrdma+roce://\nrdma+sctp://\ntcp://\nnfs://\n:6\n" {
		t.Errorf("nothing yet: %+v", got)
	}
	if got := r.exec(t, "rdma", "__complete", "get", ""); got.stdout != ":0\n" {
		t.Errorf("nothing yet for get: %+v", got)
	}
	if got := r.exec(t, "rdma", "__complete", "ls", "@/"); !strings.HasPrefix(strings.ReplaceAll(got.stdout, "@/export/\n", ""), "@/memory/\n:6\n") {
		t.Errorf("exports: %+v", got)
	}
}

// TestCompleteNothing: completion does not wait for a server that does not answer.
func TestCompleteNothing(t *testing.T) {
	r := startRig(t)
	r.stop()
	for _, scheme := range schemes {
		if got := r.exec(t, scheme, "__complete", "ls", "@/memory/"); got.code != cli.ExitOK || got.stdout != ":4\n" {
			t.Errorf("%+v", got)
		}
	}
}

// TestCompletionScripts: there is one for each shell, and it asks this command.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := execute(t, "completion", shell)
		if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "__complete") || !strings.Contains(stdout, "rpcrdma") {
			t.Errorf("%s: exit %d, %d bytes: %s", shell, code, len(stdout), stderr)
		}
	}
}

// TestCompletionUsage: there are four shells.
func TestCompletionUsage(t *testing.T) {
	for _, args := range [][]string{{"completion", "csh"}, {"completion", "bash", "csh"}} {
		if code, stdout, stderr := execute(t, args...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, "csh") {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
}
