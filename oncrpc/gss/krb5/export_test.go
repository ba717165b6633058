package krb5

// What the tests look at of files that are read: the realm of a host, and the values of a name in
// libdefaults and of the KDCs of a realm.
type Conf struct{ p *profile }

func ReadConf(paths ...string) (Conf, error) {
	p, err := readProfile(paths)
	return Conf{p}, err
}

func (c Conf) RealmOf(host string) string        { return c.p.realmOf(host) }
func (c Conf) Lib(name string) string            { return c.p.lib(name) }
func (c Conf) KDCs(realm string) []string        { return c.p.realms[realm]["kdc"] }
func (c Conf) Flag(name string, other bool) bool { return c.p.flag(name, other) }

// Permitted are the encryption types in a value of permitted_enctypes.
func Permitted(value string) []string {
	var names []string
	for _, id := range permitted(value) {
		names = append(names, id.String())
	}
	return names
}

// ParseCache returns the client of a credential cache, and how many tickets it has.
func ParseCache(b []byte) (client string, tickets int, err error) {
	c, err := parseCache(b)
	if err != nil {
		return "", 0, err
	}
	return c.client.String(), len(c.tickets), nil
}

// ParsePrincipal takes a principal apart and puts it together.
func ParsePrincipal(s string) (string, error) {
	p, err := parsePrincipal(s)
	return p.String(), err
}

// WithPort is where a KDC listens that krb5.conf names.
var WithPort = withPort
