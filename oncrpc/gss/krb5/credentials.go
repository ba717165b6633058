package krb5

import "context"

// Principal returns the principal that calls services, according to the credential cache or the
// keytab. It fails if there is no valid ticket, or no key. It does not ask a KDC.
func (i *Initiator) Principal() (string, error) {
	if i.cfg.Keytab != "" {
		client, _, err := i.keys()
		return client.String(), err
	}
	tgt, _, err := i.credentials(context.Background()) // without a keytab, it asks no KDC
	if err != nil {
		return "", err
	}
	if !tgt.usable(i.now()) {
		return "", i.expired(tgt)
	}
	return tgt.client.String(), nil
}
