package mount3_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// TestFlavor: numbers and names of flavours (RFC 2623 section 4.2, nfs(5)), and their services.
func TestFlavor(t *testing.T) {
	for _, tt := range []struct {
		number  mount3.Flavor
		name    string
		service gss.Service
	}{
		{0, "none", 0}, {1, "sys", 0},
		{390003, "krb5", gss.None}, {390004, "krb5i", gss.Integrity}, {390005, "krb5p", gss.Privacy},
	} {
		f, err := mount3.ParseFlavor(tt.name)
		if err != nil || f != tt.number || f.String() != tt.name {
			t.Errorf("%s: %d, %v", tt.name, uint32(f), err)
		}
		if f.Service() != tt.service || f.Proves() != (tt.service != 0) {
			t.Errorf("%s: service %v, proves: %t", tt.name, f.Service(), f.Proves())
		}
	}
	if f := mount3.Flavor(390006); f.String() != "flavour 390006" || f.Proves() {
		t.Errorf("an unknown one: %v, proves: %t", f, f.Proves())
	}
}

func TestParseFlavors(t *testing.T) {
	for _, list := range []string{"sys", "krb5p:krb5i:krb5:sys:none", "none:krb5"} {
		f, err := mount3.ParseFlavors(list)
		if err != nil || mount3.FormatFlavors(f) != list {
			t.Errorf("%s: %v, %v", list, f, err)
		}
	}
	if f, _ := mount3.ParseFlavors("krb5p:sys"); !slices.Equal(f, []mount3.Flavor{390005, 1}) {
		t.Errorf("%v", f)
	}
	for list, want := range map[string]string{
		"": `"" is no flavour`, "sys:": `"" is no flavour`, ":sys": `"" is no flavour`,
		"SYS": `"SYS" is no flavour`, "krb5,sys": `"krb5,sys" is no flavour: write colons between them`, " sys": `" sys" is`,
		"flavour 7": "is no flavour", "sys:krb5:sys": "sys is there twice",
	} {
		if f, err := mount3.ParseFlavors(list); err == nil || f != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", list, f, err, want)
		}
	}
}
