//go:build interop

package linux

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// way is a transport for mounts.
type way struct {
	name    string
	server  *nfsd
	options []string
}

// ways returns the ways to two servers with options; one of them serves RoCE.
func (r *realm) ways(t *testing.T, options ...string) []way {
	t.Helper()
	first := r.serve(t, netip.AddrFrom4([4]byte{127, 0, 0, 1}), serverName, options...)
	second := r.serve(t, r.w.host, roceName, options...)
	return []way{
		{"tcp", first, first.by("tcp", first.TCP)},
		{"siw", first, first.by("rdma", first.RDMA)},
		{"rxe", second, second.by("rdma", second.RDMA)},
	}
}

// stop stops the servers of ways.
func stop(t *testing.T, ways []way) {
	t.Helper()
	for _, w := range ways[1:] { // tcp and siw share one
		w.server.stop(t)
	}
}

// by returns the options of a mount over a transport and a port.
func (s *nfsd) by(proto string, port int) []string {
	return []string{
		"vers=3", "proto=" + proto, fmt.Sprintf("port=%d", port), fmt.Sprintf("mountport=%d", s.TCP),
		"mountproto=tcp", "nolock", "noresvport",
	}
}

// mounted mounts our exports in the guest.
func (r *realm) mounted(t *testing.T, sh []*shell, words plainText) {
	ways := r.ways(t)
	data := random(t, 300_003)
	sh[0].g.put("data", data)
	for _, w := range ways {
		for _, sec := range protections {
			ok := t.Run(w.name+"/"+sec, func(t *testing.T) { mountProtected(t, sh[0], w, sec, data, words.of(sec)) })
			if !ok {
				t.FailNow()
			}
		}
	}
	stop(t, ways)
}

// recovers restarts the server, loses replies, and lets a ticket expire.
func (r *realm) recovers(t *testing.T, sh []*shell) {
	ways := r.ways(t)
	second := ways[2].server
	brief := newMount(t, sh[0], second.host+":"+memory, append(second.by("tcp", second.TCP), "actimeo=0")...)
	sh[0].run(t, fmt.Sprintf(briefScript, brief.at, carol))
	data := random(t, 2<<20)
	sh[0].g.put("data", data)
	for _, w := range ways[:2] {
		t.Run(w.name+"/restart", func(t *testing.T) { restartProtected(t, sh[0], w, data) })
	}
	for _, w := range ways[:2] {
		t.Run(w.name+"/lost replies", func(t *testing.T) { loseReplies(t, sh, w) })
	}
	t.Run("expiry", func(t *testing.T) {
		t.Log(sh[0].run(t, fmt.Sprintf(expiryScript, brief.at, carol)))
		brief.unmount(t)
	})
	stop(t, ways)
}

// briefScript lets carol look into a mount with a ticket that expires soon. On a busy machine it
// may expire before she has looked. The mount names no flavour, so it uses the first that the
// server lists.
const briefScript = `
. /host/prelude
grep -q ' %[1]s nfs .*,sec=krb5,' /proc/mounts
tries=0
until as %[2]d %[2]d - kinit -l 20s -k -t /host/carol.keytab carol && as %[2]d %[2]d - ls %[1]s; do
	tries=$((tries + 1))
	[ $tries -lt 10 ]
done
`

// expiryScript lets carol look again until her ticket has expired, and then with a new one. Linux
// may keep the context for seconds longer than the ticket. If it remembers the attributes of the
// mount point, its error is "Stale file handle", so the mount has actimeo=0.
const expiryScript = `
. /host/prelude
tries=0
while as %[2]d %[2]d - ls %[1]s; do
	tries=$((tries + 1))
	[ $tries -lt 60 ] || {
		echo "carol can still look after 60 tries, and her ticket was for 20 s"
		exit 1
	}
	sleep 1
done
refused "Key has expired" as %[2]d %[2]d - ls %[1]s
as %[2]d %[2]d - kinit -k -t /host/carol.keytab carol
as %[2]d %[2]d - ls %[1]s
`

// protectedScript lets users work in a mount: alice, with a ticket; bob, without one; and root,
// which is the guest itself.
const protectedScript = `
. /host/prelude
alice() { as %[3]d %[3]d - "$@"; }
bob() { as %[5]d %[5]d - "$@"; }
grep -q ' %[1]s nfs .*,sec=%[2]s,' /proc/mounts
cd %[1]s
alice mkdir %[4]s
cd %[4]s
alice dd if=/host/data of=data bs=64k conv=fsync status=none
alice cp /host/words-%[2]s words
alice chmod 600 words
fresh
alice cmp data /host/data
alice cmp words /host/words-%[2]s
same "names" "$(alice ls | tr '\n' ' ')" "data words "
refused "Permission denied" bob cat data
refused "Permission denied" bob touch new
cat data >/dev/null
refused "Permission denied" cat words
refused "Permission denied" touch new
cd ..
touch root-%[4]s
`

// mountProtected mounts over a transport with a protection, and lets users work there.
func mountProtected(t *testing.T, sh *shell, w way, sec string, data, words []byte) {
	sh.g.put("words-"+sec, words)
	m := newMount(t, sh, w.server.host+":"+directory, append(slices.Clone(w.options), "sec="+sec)...)
	name := w.name + "-" + sec
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("messages of the server:\n%s", w.server.Log())
		}
	})
	sh.run(t, fmt.Sprintf(protectedScript, m.at, sec, alice, name, bob))
	if w.name != "tcp" {
		checkPlacement(t, m.counters(t), sec)
	}
	m.unmount(t)
	at := func(name string) string { return filepath.Join(w.server.dir, name) }
	checkFile(t, at(name+"/data"), data)
	checkFile(t, at(name+"/words"), words)
	for file, want := range map[string]uint32{name + "/data": alice, "root-" + name: anonymous} {
		info, err := os.Stat(at(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s has the owner %d, want %d", file, got, want)
		}
	}
}

// checkPlacement checks which chunks a client offered. With checksums or encryption no data is
// placed directly; messages are moved whole.
func checkPlacement(t *testing.T, c counters, sec string) {
	t.Helper()
	t.Logf("%+v", c)
	if direct := sec == "krb5"; direct != (c.WriteChunks > 0) {
		t.Errorf("%s: %d write chunks were offered", sec, c.WriteChunks)
	} else if !direct && (c.NoMsgs == 0 || c.ReplyChunks == 0) {
		t.Errorf("%s: no calls, or no replies, that go by a chunk: %+v", sec, c)
	}
}

// appendScript lets alice write /host/data, synced every 128 KiB.
const appendScript = `
. /host/prelude
i=0
while [ $i -lt %[1]d ]; do
	as %[2]d %[2]d - dd if=/host/data of=%[3]s/file bs=128k skip=$i seek=$i count=1 conv=notrunc,fsync status=none
	i=$((i + 1))
done
`

// restartProtected kills the server while alice writes. The next server does not know her context,
// so Linux makes a new one. She notices nothing.
func restartProtected(t *testing.T, sh *shell, w way, data []byte) {
	m := newMount(t, sh, w.server.host+":"+directory, append(slices.Clone(w.options), "sec=krb5i")...)
	file := filepath.Join(w.server.dir, "file")
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	sh.start(t, fmt.Sprintf(appendScript, len(data)>>17, alice, m.at))
	awaitSize(t, file, int64(len(data)/4))
	w.server.Kill()
	w.server.Restart()
	sh.finish(t)
	checkFile(t, file, data)
	got := sh.run(t, "echo 3 >/proc/sys/vm/drop_caches\nsha256sum <"+m.at+"/file")
	if want := fmt.Sprintf("%x  -", sha256.Sum256(data)); got != want {
		t.Errorf("the guest reads %s, want %s", got, want)
	}
	m.unmount(t)
}

// loseReplies resets connections when replies arrive. Linux repeats the calls with new signatures,
// but alice's changes are made once.
func loseReplies(t *testing.T, sh []*shell, w way) {
	port := w.server.TCP
	if w.name != "tcp" {
		port = w.server.RDMA
	}
	p := newProxy(t, port, fromServer, 20_000, 40_000, 60_000, 80_000)
	options := w.server.by(map[bool]string{true: "tcp", false: "rdma"}[w.name == "tcp"], p.port())
	m := newMount(t, sh[0], w.server.host+":"+directory, append(options, "sec=krb5i")...)
	sh[0].run(t, "rm -f /tmp/stop")
	sh[1].g.put("changes", fmt.Appendf(nil, changesScript, m.at))
	sh[1].start(t, fmt.Sprintf(". /host/prelude\nas %[1]d %[1]d - dash /host/changes", alice))
	p.wait(t)
	sh[0].run(t, "touch /tmp/stop")
	t.Logf("changes: %s", sh[1].await(t, "CHANGES "))
	sh[1].finish(t)
	m.unmount(t)
}

// plainText is the text to look for in captures, by protection.
type plainText map[string][]byte

// newPlainText returns text that nothing else sends, many times over.
func newPlainText(t *testing.T) plainText {
	t.Helper()
	w := make(plainText)
	for _, sec := range protections {
		word := fmt.Sprintf("%x under %s. ", random(t, 16), sec)
		w[sec] = []byte(strings.Repeat(word, 2000))
	}
	return w
}

func (w plainText) of(sec string) []byte { return w[sec] }
