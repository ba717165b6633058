package testkdc

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Principal describes a principal to add. The zero value has random keys of all encryption types,
// as services do.
type Principal struct {
	// Password is the password that the keys are derived from; "" means random keys.
	Password string
	// Enctypes are the encryption types of the keys, by MIT's names; nil means all of the realm's.
	// Session keys of a service use the first, unless SessionEnctypes says otherwise.
	Enctypes []string
	// SessionEnctypes are the encryption types that the service accepts for session keys
	// (session_enctypes).
	SessionEnctypes []string
	// MaxLife and MaxRenewLife limit the principal's tickets; 0 means the realm's limits.
	MaxLife, MaxRenewLife time.Duration
}

// Add adds a principal, such as "alice" or "nfs/server.test".
func (k *KDC) Add(name string, p Principal) error {
	args := []string{"addprinc"}
	if p.Password != "" {
		args = append(args, "-pw", p.Password)
	} else {
		args = append(args, "-randkey")
	}
	if p.Enctypes != nil {
		args = append(args, "-e", quoted(saltOf(p.Enctypes)))
	}
	if p.MaxLife != 0 {
		args = append(args, "-maxlife", quoted(fmt.Sprintf("%d seconds", int(p.MaxLife.Seconds()))))
	}
	if p.MaxRenewLife != 0 {
		args = append(args, "-maxrenewlife",
			quoted(fmt.Sprintf("%d seconds", int(p.MaxRenewLife.Seconds()))))
	}
	if _, err := k.Kadmin(append(args, name)...); err != nil {
		return err
	}
	if p.SessionEnctypes == nil {
		return nil
	}
	_, err := k.Kadmin("setstr", name, "session_enctypes",
		quoted(strings.Join(p.SessionEnctypes, " ")))
	return err
}

// ChangeKeys gives a principal new random keys. Older keytabs do not contain them.
func (k *KDC) ChangeKeys(name string) error {
	_, err := k.Kadmin("cpw", "-randkey", name)
	return err
}

// Delete removes a principal.
func (k *KDC) Delete(name string) error {
	_, err := k.Kadmin("delprinc", "-force", name)
	return err
}

// Keytab writes the current keys of principals to a new keytab, and returns its path.
func (k *KDC) Keytab(names ...string) (string, error) {
	path := k.File("keytab")
	return path, k.AddToKeytab(path, names...)
}

// AddToKeytab adds the current keys of principals to a keytab.
func (k *KDC) AddToKeytab(path string, names ...string) error {
	query := []string{"ktadd", "-norandkey", "-k", quoted("FILE:" + path)}
	_, err := k.Kadmin(append(query, names...)...)
	return err
}

// Kadmin passes a query to kadmin.local and returns its output. The query becomes one line, so an
// argument that contains spaces must be in quotation marks.
func (k *KDC) Kadmin(query ...string) (string, error) {
	out, err := k.Run("kadmin.local", "-r", k.Realm, "-q", strings.Join(query, " "))
	if err != nil {
		return out, err
	}
	// The exit code does not show that a query failed.
	for line := range strings.Lines(out) {
		if strings.Contains(line, " while ") || strings.HasPrefix(line, "kadmin.local:") {
			return out, fmt.Errorf("kadmin.local %s: %s", query[0], out)
		}
	}
	return out, nil
}

// File returns the path of a new file of the realm.
func (k *KDC) File(name string) string {
	k.files++
	return filepath.Join(k.Dir, fmt.Sprintf("%s.%d", name, k.files))
}

func quoted(s string) string { return `"` + s + `"` }

// saltOf appends the salt type to each encryption type, as MIT's programs require.
func saltOf(enctypes []string) string {
	return strings.Join(enctypes, ":normal ") + ":normal"
}
