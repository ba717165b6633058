package serve

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelsOwn are types of file systems that have no files to export.
var kernelsOwn = []string{"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs",
	"devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs", "mqueue", "nfsd", "nsfs", "proc",
	"pstore", "rpc_pipefs", "securityfs", "sysfs", "tracefs"}

// mountsBelow returns the mount points below a directory, the outer ones first. dir must be
// resolved.
func mountsBelow(dir string) (all []string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// Six fields, optional ones, a dash, and the type (proc(5)).
		head, tail, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(head)
		kind, _, _ := strings.Cut(tail, " ")
		if !ok || len(fields) < 6 || slices.Contains(kernelsOwn, kind) {
			continue
		}
		point := octalPath(fields[4])
		if point != dir && within(point, dir) && !slices.Contains(all, point) {
			all = append(all, filepath.Clean(point))
		}
	}
	slices.Sort(all)
	return all, nil
}

// octalPath decodes the octal escapes of a path.
func octalPath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
