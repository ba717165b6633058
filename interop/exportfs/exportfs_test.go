//go:build interop

package exportfs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what exportfs answers to the testdata")

// answers is the corpus. The tests of package exports say what the fields are.
const answers = "../../nfsdemo/exports/testdata/exportfs.json"

type odd struct {
	Why, File string
	Exportfs  []string
	Ours      []string `json:",omitempty"`
	Error     string   `json:",omitempty"`
}

// TestAnswers: exportfs answers as the testdata says.
func TestAnswers(t *testing.T) {
	b, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	var all []odd
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for i, etab := range ask(t, all) {
		o, got := &all[i], read(etab)
		if *update {
			o.Exportfs = got
		} else if diff := cmp.Diff(o.Exportfs, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", o.Why, o.File, diff)
		}
	}
	if !*update {
		return
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(answers, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// script has exportfs read the files of the directory $1. exportfs complains, and fails, since the
// paths do not exist.
const script = `cd "$1" && mount -t tmpfs none /var/lib/nfs || exit
if [ -d /etc/exports.d ]; then mount -t tmpfs none /etc/exports.d || exit; fi
touch exports && mount --bind exports /etc/exports || exit
for file in *.file; do
	cat "$file" >exports
	exportfs -r
	cp /var/lib/nfs/etab "$file.etab" || exit
done`

// ask returns the table in which exportfs keeps what it exports, for each file.
func ask(t *testing.T, files []odd) (etabs []string) {
	t.Helper()
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d.file", i)) }
	for i, o := range files {
		if err := os.WriteFile(name(i), []byte(o.File), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "--net", "sh", "-c", script, "sh", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for i := range files {
		b, err := os.ReadFile(name(i) + ".etab")
		if err != nil {
			t.Fatal(err)
		}
		etabs = append(etabs, string(b))
	}
	return etabs
}

// read returns what a table exports, by path, in the order in which clients are compared.
func read(etab string) []string {
	all := []string{}
	seen := make(map[string]bool)
	for line := range strings.Lines(etab) {
		name, rest, _ := strings.Cut(line, "\t")
		client, options, _ := strings.Cut(rest, "(")
		if client == "" { // everybody
			client = "*"
		}
		if !seen[name+" "+client] { // else the first one counts
			seen[name+" "+client] = true
			all = append(all, name+" "+client+"("+known(options)+")")
		}
	}
	pathOf := func(s string) string { return s[:strings.IndexByte(s, ' ')] }
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	return all
}

// known returns the options of etab that package exports has, without defaults. Those of flavours
// come last, and are the same.
func known(options string) string {
	options, _, _ = strings.Cut(options, ",sec=")
	options = strings.Replace(options, "no_root_squash,all_squash", "all_squash", 1) // the same
	var some []string
	for o := range strings.SplitSeq(options, ",") {
		switch {
		case o == "ro", o == "rw", o == "insecure", o == "no_root_squash", o == "all_squash",
			strings.HasPrefix(o, "anon") && !strings.HasSuffix(o, "=65534"):
			some = append(some, o)
		}
	}
	return strings.Join(some, ",")
}
