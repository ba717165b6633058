// Package testkdc runs a Kerberos realm for tests: MIT's KDC (Debian's krb5-kdc, krb5-admin-server
// and krb5-user) in a directory of its own. It needs no root, and changes no file of the system.
// MIT's programs find the realm through the environment variables of [KDC.Env].
package testkdc

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Realm is the name of the realm, unless Config has another.
const Realm = "TEST.EXAMPLE"

// Limits on waiting.
const (
	startLimit   = 20 * time.Second // until the KDC serves
	commandLimit = 30 * time.Second // until a command has ended
	tries        = 8                // ports to try
)

// Config configures a KDC.
type Config struct {
	// Realm is the realm's name; "" means Realm.
	Realm string
	// Host is the address that the KDC listens at; "" means 127.0.0.1.
	Host string
	// Enctypes are the encryption types of the realm, by MIT's names; nil means EnctypesOfAES.
	Enctypes []string
	// MaxLife and MaxRenewLife limit tickets; 0 means 10 hours and 7 days.
	MaxLife, MaxRenewLife time.Duration
	// ClockShift is how far the KDC's clock is ahead of the host's. It needs Debian's faketime.
	ClockShift time.Duration
	// Libdefaults are further lines for the section [libdefaults] of krb5.conf.
	Libdefaults []string
}

// EnctypesOfAES are the encryption types of RFC 3962 and RFC 8009, the KDC's first choice first.
var EnctypesOfAES = []string{
	"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96",
	"aes256-cts-hmac-sha384-192", "aes128-cts-hmac-sha256-128",
}

// KDC is a realm and its KDC.
type KDC struct {
	Realm string
	// Dir contains all of the realm's files. Tests may add files.
	Dir string
	// Addr is where the KDC listens, over UDP and TCP.
	Addr string

	cfg   Config
	cmd   *exec.Cmd
	out   *os.File
	ended chan struct{} // closed when cmd has ended
	files int           // number of names given out by File
}

// Start creates a realm in dir, which must be empty, and starts its KDC.
func Start(dir string, cfg Config) (*KDC, error) {
	if cfg.Realm == "" {
		cfg.Realm = Realm
	}
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	if cfg.Enctypes == nil {
		cfg.Enctypes = EnctypesOfAES
	}
	if cfg.MaxLife == 0 {
		cfg.MaxLife = 10 * time.Hour
	}
	if cfg.MaxRenewLife == 0 {
		cfg.MaxRenewLife = 7 * 24 * time.Hour
	}
	k := &KDC{Realm: cfg.Realm, Dir: dir, cfg: cfg}
	var err error
	if k.Addr, err = freePort(cfg.Host); err != nil {
		return nil, err
	}
	if err := k.configure(); err != nil {
		return nil, err
	}
	// The password of the database goes to a stash file beside the database.
	if _, err := k.Run("kdb5_util", "create", "-s", "-r", k.Realm, "-P", "master"); err != nil {
		return nil, err
	}
	for range tries {
		if err = k.start(); err == nil || !errors.Is(err, errPortTaken) {
			break
		}
		if k.Addr, err = freePort(cfg.Host); err != nil {
			break
		}
		if err = k.configure(); err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

// errPortTaken says that another process took the port after freePort had found it free.
var errPortTaken = errors.New("the port is taken")

// start starts the KDC and waits until it serves.
func (k *KDC) start() error {
	log := filepath.Join(k.Dir, "kdc.log")
	out, err := os.Create(filepath.Join(k.Dir, "kdc.out"))
	if err != nil {
		return err
	}
	if err := os.Remove(log); err != nil && !os.IsNotExist(err) {
		return err
	}
	k.cmd = k.Shifted(k.cfg.ClockShift, "krb5kdc", "-n", "-r", k.Realm)
	k.cmd.Stdout, k.cmd.Stderr = out, out
	if err := k.cmd.Start(); err != nil {
		out.Close()
		return err
	}
	k.out, k.ended = out, make(chan struct{})
	go func() {
		_ = k.cmd.Wait() // the KDC's log has its errors
		close(k.ended)
	}()
	patience := time.After(startLimit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		said, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			return errors.Join(err, k.Stop())
		}
		if bytes.Contains(said, []byte("commencing operation")) {
			return nil
		}
		select {
		case <-tick.C:
		case <-k.ended:
			out.Close()
			if bytes.Contains(said, []byte("in use")) {
				return errPortTaken
			}
			printed, _ := os.ReadFile(out.Name())
			return fmt.Errorf("krb5kdc has ended:\n%s%s", said, printed)
		case <-patience:
			return errors.Join(fmt.Errorf("krb5kdc does not serve:\n%s", said), k.Stop())
		}
	}
}

// Stop ends the KDC. The realm's files remain, and Restart serves them again.
func (k *KDC) Stop() error {
	select {
	case <-k.ended:
		return nil
	default:
	}
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-k.ended:
	case <-time.After(startLimit):
		_ = k.cmd.Process.Kill() // it may have ended meanwhile
		<-k.ended
	}
	return k.out.Close()
}

// Restart serves the realm again at the same address. Call it after Stop.
func (k *KDC) Restart() error { return k.start() }

// Log returns what the KDC has logged since it was started.
func (k *KDC) Log() string {
	b, err := os.ReadFile(filepath.Join(k.Dir, "kdc.log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// freePort returns an address that is free for both UDP and TCP.
func freePort(host string) (string, error) {
	var errs []error
	for range tries {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return "", err
		}
		addr := l.Addr().String()
		l.Close()
		c, err := net.ListenPacket("udp", addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Close()
		return addr, nil
	}
	return "", errors.Join(errs...)
}

// configure writes krb5.conf and kdc.conf.
func (k *KDC) configure() error {
	port := k.Addr[strings.LastIndex(k.Addr, ":")+1:]
	enctypes := make([]string, len(k.cfg.Enctypes))
	for i, e := range k.cfg.Enctypes {
		enctypes[i] = e + ":normal"
	}
	kdc := fmt.Sprintf(`[kdcdefaults]
    kdc_listen = %[1]s:%[2]s
    kdc_tcp_listen = %[1]s:%[2]s
[realms]
    %[3]s = {
        database_name = %[4]s/principal
        key_stash_file = %[4]s/stash
        acl_file = %[4]s/acl
        admin_keytab = FILE:%[4]s/kadm5.keytab
        master_key_type = aes256-cts-hmac-sha1-96
        supported_enctypes = %[5]s
        max_life = %[6]ds
        max_renewable_life = %[7]ds
    }
[logging]
    kdc = FILE:%[4]s/kdc.log
    admin_server = FILE:%[4]s/kadmin.log
`, k.cfg.Host, port, k.Realm, k.Dir, strings.Join(enctypes, " "),
		int(k.cfg.MaxLife.Seconds()), int(k.cfg.MaxRenewLife.Seconds()))
	if err := os.WriteFile(filepath.Join(k.Dir, "kdc.conf"), []byte(kdc), 0o600); err != nil {
		return err
	}
	return os.WriteFile(k.Conf(), []byte(k.ConfFor(k.Addr)), 0o644)
}

// Conf returns the path of the realm's krb5.conf.
func (k *KDC) Conf() string { return filepath.Join(k.Dir, "krb5.conf") }

// ConfFor returns a krb5.conf for hosts that reach the KDC at another address, HOST:PORT.
func (k *KDC) ConfFor(addr string) string {
	return fmt.Sprintf(`[libdefaults]
    default_realm = %[1]s
    dns_lookup_realm = false
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
    rdns = false
    permitted_enctypes = %[2]s
    %[3]s
[realms]
    %[1]s = {
        kdc = %[4]s
    }
[domain_realm]
    localhost = %[1]s
    .test = %[1]s
`, k.Realm, strings.Join(k.cfg.Enctypes, " "), strings.Join(k.cfg.Libdefaults, "\n    "), addr)
}
