//go:build interop

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oddNames are file names in UTF-8, in no encoding, and with characters that are special elsewhere.
var oddNames = []string{
	"grün", "日本語", "e\u0301", "\U0001f600",
	"gr\xfcn", "\xff\xfe", "\xc3", "\xed\xa0\x80",
	"a\nb", "\n", "\t", "\x01\x7f", "\x1b[31m", " ", " a ", "...", "-r", "--", "a\\b", `"`, "'", "*", "?x=1", "#", "%41", "%", "a;b", "$HOME", "~", "a:b", "[x]",
	strings.Repeat("n", 255), strings.Repeat("ü", 127) + "x",
}

// names copies files with odd names there and back. Each file contains its name.
func (k *knfsd) names(t *testing.T) {
	from := filepath.Join(t.TempDir(), "names")
	if err := os.Mkdir(from, 0o755); err != nil {
		t.Fatal(err)
	}
	var made strings.Builder // by the guest, of bytes in octal
	made.WriteString("mkdir -p /export/made && cd /export/made\n")
	for _, name := range oddNames {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		// A shell drops newlines at the end of a substitution.
		fmt.Fprintf(&made, "name=$(printf '%s.') && name=${name%%.} && printf %%s \"$name\" >\"./$name\"\n", octal(name))
	}
	check := `
n=0
for name in ./* ./.[!.]* ./..?*; do
	[ -e "$name" ] || continue
	printf %s "${name#./}" | cmp - "$name" || exit
	n=$((n + 1))
done
echo $n`
	k.sh[0].run(t, made.String())
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			k.sh[0].run(t, "rm -rf /export/names")
			k.do(t, "put", "-r", from, k.url(scheme, open))
			k.guestSays(t, fmt.Sprint(len(oddNames)), "cd /export/names"+check)

			to := t.TempDir()
			k.do(t, "get", "-r", k.url(scheme, open+"/made"), to)
			entries, err := os.ReadDir(filepath.Join(to, "made"))
			if err != nil || len(entries) != len(oddNames) {
				t.Errorf("%d names have come, want %d, error %v", len(entries), len(oddNames), err)
			}
			for _, name := range oddNames {
				checkFile(t, filepath.Join(to, "made", name), []byte(name))
			}
			for _, name := range oddNames { // one by one, in URLs
				if got := k.do(t, "cat", k.url(scheme, escaped(open+"/made/"+name))); got != name {
					t.Errorf("cat of %q: %q", name, got)
				}
			}
			got := strings.Split(strings.TrimSuffix(k.do(t, "ls", "-a", "-U", k.url(scheme, open+"/made")), "\n"), "\n")
			var lines int
			for _, name := range oddNames {
				lines += 1 + strings.Count(name, "\n")
			}
			if len(got) != lines {
				t.Errorf("ls prints %d lines, want %d", len(got), lines)
			}
		})
	}
}

// octal escapes bytes for a shell's printf.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	return b.String()
}
