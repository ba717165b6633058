//go:build interop

package commands

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/mdblocks"
)

// documentedSetup makes the realm used in the documentation. In the sandbox there is no kadmind,
// and nobody to type alice's password.
const documentedSetup = `
set -e
export KRB5CCNAME=FILE:$SANDBOX/tickets
mkdir /etc/krb5kdc-test /var/lib/krb5kdc
cat >/etc/krb5.conf <<END
[libdefaults]
    default_realm = EXAMPLE.ORG
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
    rdns = false
[realms]
    EXAMPLE.ORG = {
        kdc = 127.0.0.1:88
    }
[domain_realm]
    .example.org = EXAMPLE.ORG
END
export KRB5_KDC_PROFILE=/etc/krb5kdc-test/kdc.conf
cat >$KRB5_KDC_PROFILE <<END
[realms]
    EXAMPLE.ORG = {
        database_name = /var/lib/krb5kdc/principal
        key_stash_file = /var/lib/krb5kdc/stash
        acl_file = /var/lib/krb5kdc/acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
    }
END
PATH=$PATH:/usr/sbin
kdb5_util create -s -r EXAMPLE.ORG -P master >/dev/null
kadmin.local -q 'addprinc -pw secret alice' >/dev/null
krb5kdc -n 2>$SANDBOX/kdc.log &
for i in $(seq 300); do (: </dev/tcp/127.0.0.1/88) 2>/dev/null && break; sleep 0.1; done
echo 'alice:x:1001:1001::/:/bin/sh' >>/etc/passwd
kadmin() { kadmin.local "$@"; }
kinit() { echo secret | command kinit "$@"; }
set +e
`

// TestDocumented runs the commands in the documentation that need Kerberos, as printed.
func TestDocumented(t *testing.T) {
	blocks, err := mdblocks.ReadAll("../../..", "sh kerberos")
	if err != nil {
		t.Fatal(err)
	}
	box := mdblocks.NewSandbox(t, "../../..")
	scripts := make(map[string]string)
	for _, b := range blocks {
		scripts[b.File] += box.Script(t, b)
	}
	if len(scripts) == 0 {
		t.Error("the documents have no commands for Kerberos")
	}
	for file, script := range scripts {
		t.Run(file, func(t *testing.T) {
			out, err := box.Run(t, documentedSetup+script)
			if t.Logf("%s", out); err != nil {
				t.Error(err)
			}
		})
	}
}
