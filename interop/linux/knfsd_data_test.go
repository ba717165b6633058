//go:build interop

package linux

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileSizes are the lengths of the files that are copied.
var fileSizes = []int{0, 1, 3, 4095, 4096, 4097, 65535, 65536, 65537, largest - 1, largest, largest + 1, 5<<20 + 3}

// copies puts files of all sizes, which the guest reads, and gets files that the guest has made.
func (k *knfsd) copies(t *testing.T) {
	all := fileSizes
	if *full {
		all = append(all, 100<<20+1)
	}
	for _, tt := range []struct {
		scheme, options string
		largest         int
	}{
		{"rdma", "", all[len(all)-1]},
		{"tcp", "", all[len(all)-1]},
		{"rdma", "--size 64KiB --parallel 100 --connections 3", largest + 1},
		{"rdma", "--inline 1KiB --size 4KiB --crc on", 65537},
	} {
		t.Run(strings.TrimSpace(tt.scheme+" "+tt.options), func(t *testing.T) {
			options := strings.Fields(tt.options)
			sizes := all[:slices.Index(all, tt.largest)+1]
			from, to := t.TempDir(), t.TempDir()
			var names, sums []string
			data := random(t, sizes[len(sizes)-1])
			for _, n := range sizes {
				name := fmt.Sprintf("file-%d", n)
				if err := os.WriteFile(filepath.Join(from, name), data[len(data)-n:], 0o644); err != nil {
					t.Fatal(err)
				}
				names = append(names, filepath.Join(from, name))
				sums = append(sums, fmt.Sprintf("%x  %s", sha256.Sum256(data[len(data)-n:]), name))
			}
			k.sh[0].run(t, "rm -rf /export/put /export/get && mkdir /export/put /export/get")
			k.do(t, append(append([]string{"put"}, options...), append(names, k.url(tt.scheme, open+"/put"))...)...)
			k.guestSays(t, strings.Join(sums, "\n"), "cd /export/put && for n in "+numbers(sizes)+"; do sha256sum file-$n; done")

			// The guest's files begin elsewhere.
			k.put("data", data)
			k.sh[0].run(t, fmt.Sprintf("cd /export/get && for n in %s; do head -c $n /host/data >file-$n; done", numbers(sizes)))
			args := append([]string{"get"}, options...)
			for _, n := range sizes {
				args = append(args, k.url(tt.scheme, fmt.Sprintf("%s/get/file-%d", open, n)))
			}
			k.do(t, append(args, to)...)
			for _, n := range sizes {
				checkFile(t, filepath.Join(to, fmt.Sprintf("file-%d", n)), data[:n])
			}
			if got := k.do(t, "cat", args[len(args)-1]); got != string(data) {
				t.Errorf("cat prints %d bytes, not those of the file", len(got))
			}
		})
	}
}

// numbers are numbers with spaces between them.
func numbers(n []int) string { return strings.Trim(fmt.Sprint(n), "[]") }

// escaped is a path in a URL, of any bytes.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
