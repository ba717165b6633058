package testkdc

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Principal is what a principal is added with. The zero value has random keys of all enctypes, as
// services have.
type Principal struct {
	// Password is what the keys are made from; "" means random keys.
	Password string
	// Enctypes are those of the keys, in MIT's names; nil means all of the realm's. Sessions of a
	// service take the first of these, unless SessionEnctypes says otherwise.
	Enctypes []string
	// SessionEnctypes are those that the service takes for its sessions' keys (session_enctypes).
	SessionEnctypes []string
	// MaxLife and MaxRenewLife limit the principal's tickets; 0 means as the realm does.
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

// ChangeKeys gives a principal new random keys of its enctypes, which older keytabs do not have.
func (k *KDC) ChangeKeys(name string) error {
	_, err := k.Kadmin("cpw", "-randkey", name)
	return err
}

// Delete removes a principal.
func (k *KDC) Delete(name string) error {
	_, err := k.Kadmin("delprinc", "-force", name)
	return err
}

// Keytab writes the keys of principals to a new keytab, and returns its path. The keys are those
// that the KDC has.
func (k *KDC) Keytab(names ...string) (string, error) {
	path := k.File("keytab")
	return path, k.AddToKeytab(path, names...)
}

// AddToKeytab adds the keys of principals to a keytab.
func (k *KDC) AddToKeytab(path string, names ...string) error {
	query := []string{"ktadd", "-norandkey", "-k", quoted("FILE:" + path)}
	_, err := k.Kadmin(append(query, names...)...)
	return err
}

// Kadmin has kadmin.local do something. It returns what that has printed. A query is one line: what
// has spaces in it must be in quotation marks.
func (k *KDC) Kadmin(query ...string) (string, error) {
	out, err := k.Run("kadmin.local", "-r", k.Realm, "-q", strings.Join(query, " "))
	if err != nil {
		return out, err
	}
	// Its exit code does not tell that a query has failed.
	for line := range strings.Lines(out) {
		if strings.Contains(line, " while ") || strings.HasPrefix(line, "kadmin.local:") {
			return out, fmt.Errorf("kadmin.local %s: %s", query[0], out)
		}
	}
	return out, nil
}

// File returns the path of a file of the realm that is not there yet.
func (k *KDC) File(name string) string {
	k.files++
	return filepath.Join(k.Dir, fmt.Sprintf("%s.%d", name, k.files))
}

func quoted(s string) string { return `"` + s + `"` }

// saltOf appends to enctypes how their keys are salted, as MIT's programs want it.
func saltOf(enctypes []string) string {
	return strings.Join(enctypes, ":normal ") + ":normal"
}
