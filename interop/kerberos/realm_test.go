//go:build interop

package kerberos

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
)

// realm starts a KDC that serves until the test ends. It has alice, whose password is "secret", and
// the service nfs/server.test.
func realm(t *testing.T, cfg testkdc.Config) *testkdc.KDC {
	t.Helper()
	k, err := testkdc.Start(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the KDC's log:\n%s", k.Log())
		}
	})
	add(t, k, "alice", testkdc.Principal{Password: "secret"})
	add(t, k, "nfs/server.test", testkdc.Principal{})
	return k
}

func add(t *testing.T, k *testkdc.KDC, name string, p testkdc.Principal) {
	t.Helper()
	if err := k.Add(name, p); err != nil {
		t.Fatal(err)
	}
}

// TestRealm: the realm works as the tests assume, seen by MIT's own programs.
func TestRealm(t *testing.T) {
	k := realm(t, testkdc.Config{})
	sha2 := []string{"aes128-cts-hmac-sha256-128"}
	add(t, k, "nfs/sha2.test", testkdc.Principal{Enctypes: sha2, SessionEnctypes: sha2})
	add(t, k, "brief", testkdc.Principal{Password: "secret", MaxLife: 5 * time.Minute})

	keytab, err := k.Keytab("nfs/server.test", "nfs/sha2.test")
	if err != nil {
		t.Fatal(err)
	}
	out, err := k.Run("klist", "-e", "-k", keytab)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out, "nfs/server.test@"); n != len(testkdc.EnctypesOfAES) {
		t.Errorf("the keytab has %d keys of nfs/server.test, want %d:\n%s", n, 4, out)
	}
	if n := strings.Count(out, "nfs/sha2.test@"); n != 1 {
		t.Errorf("the keytab has %d keys of nfs/sha2.test, want 1:\n%s", n, out)
	}

	cache, err := k.Kinit("alice", "secret")
	if err != nil {
		t.Fatal(err)
	}
	cmd := k.Command("kvno", "-c", "FILE:"+cache, "nfs/sha2.test@"+k.Realm)
	if out, err := testkdc.Output(cmd, ""); err != nil || !strings.Contains(out, "kvno = 1") {
		t.Errorf("kvno: %v\n%s", err, out)
	}
	out, err = k.Run("klist", "-e", "-c", cache)
	if err != nil || !strings.Contains(out, "aes128-cts-hmac-sha256-128, aes128-cts-hmac-sha256-128") {
		t.Errorf("klist: %v\n%s", err, out)
	}
	if _, err := k.Kinit("alice", "wrong"); err == nil {
		t.Error("kinit with a wrong password has succeeded")
	}
	if _, err := k.KinitKeytab("nfs/server.test", keytab); err != nil {
		t.Error(err)
	}
}

// TestRestart: the KDC can be stopped and started again.
func TestRestart(t *testing.T) {
	k := realm(t, testkdc.Config{})
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Kinit("alice", "secret"); err == nil {
		t.Error("kinit without a KDC has succeeded")
	}
	if err := k.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Kinit("alice", "secret"); err != nil {
		t.Error(err)
	}
}

// TestShifted: the clocks of a command and of the KDC can be shifted.
func TestShifted(t *testing.T) {
	if _, err := exec.LookPath("faketime"); err != nil {
		t.Fatal(err)
	}
	k := realm(t, testkdc.Config{ClockShift: 20 * time.Minute, Libdefaults: []string{"kdc_timesync = 0"}})
	if out, err := k.Kinit("alice", "secret"); err == nil || !strings.Contains(err.Error(), "skew") {
		t.Errorf("kinit with another clock than the KDC's: %s, %v; want an error about skew", out, err)
	}
	cache := k.File("ccache")
	cmd := k.Shifted(20*time.Minute, "kinit", "-c", cache, "alice")
	if _, err := testkdc.Output(cmd, "secret\n"); err != nil {
		t.Errorf("kinit with the KDC's clock: %v", err)
	}
}
