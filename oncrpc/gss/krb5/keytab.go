package krb5

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

const (
	defaultKeytab = "/etc/krb5.keytab"
	maxKeytab     = 16 << 20 // bytes
)

// keytabPath returns the path of the keytab, or the default if path is "".
func keytabPath(path string) (string, error) {
	if path == "" {
		path = os.Getenv("KRB5_KTNAME")
	}
	if path == "" {
		return defaultKeytab, nil
	}
	return filePath("keytab", path)
}

// filePath returns the path in the name of a keytab or a credential cache, whose kind must be FILE.
func filePath(what, name string) (string, error) {
	kind, path, ok := strings.Cut(name, ":")
	switch {
	case !ok || strings.Contains(kind, "/"):
		return name, nil
	case kind == "FILE" || what == "keytab" && kind == "WRFILE":
		return path, nil
	}
	return "", fmt.Errorf("%s %s: only files are read (FILE:PATH), not %s", what, name, kind)
}

// keyEntry is a key in a keytab.
type keyEntry struct {
	owner   principal
	version uint32 // 0 if the file's writer did not know it
	key     key
}

// readKeytab reads the keys of a keytab with supported encryption types. info is that of the file
// before it was read. With an error it is nil, unless the keytab is well-formed without such keys.
func readKeytab(path string) (keys []keyEntry, info os.FileInfo, err error) {
	if info, err = os.Stat(path); err != nil {
		return nil, nil, fmt.Errorf("keytab: %w", err)
	}
	if info.Size() > maxKeytab {
		return nil, nil, fmt.Errorf("keytab %s has %d bytes, more than %d", path, info.Size(), maxKeytab)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("keytab: %w", err)
	}
	var kt keytab.Keytab
	if err := guard("keytab", kt.Unmarshal, b); err != nil {
		return nil, nil, fmt.Errorf("keytab %s is malformed", path) // err may contain its keys
	}
	for _, e := range kt.Entries {
		k, err := keyOf(e.Key)
		if err != nil {
			continue
		}
		owner := principal{e.Principal.Components, e.Principal.Realm}
		keys = append(keys, keyEntry{owner, e.KVNO, k})
	}
	if len(keys) == 0 {
		return nil, info, fmt.Errorf("keytab %s has no key of a supported encryption type (%s)", path,
			supported())
	}
	return keys, info, nil
}

// supported names the encryption types.
func supported() string {
	names := make([]string, len(enctype.All))
	for i, id := range enctype.All {
		names[i] = id.String()
	}
	return strings.Join(names, ", ")
}

// newest returns a principal's newest key of each encryption type, the strongest first.
func newest(keys []keyEntry, owner principal) []keyEntry {
	best := make(map[enctype.ID]keyEntry)
	for _, e := range keys {
		if old, ok := best[e.key.etype]; e.owner.equal(owner) && (!ok || e.version > old.version) {
			best[e.key.etype] = e
		}
	}
	var found []keyEntry
	for _, e := range best {
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b keyEntry) int { return cmp.Compare(b.key.etype, a.key.etype) })
	return found
}
