package exports

import (
	"maps"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// varying are the options that may differ between flavours.
var varying = map[string]func(*nfsserver.Access){
	"ro":             func(a *nfsserver.Access) { a.ReadOnly = true },
	"rw":             func(a *nfsserver.Access) { a.ReadOnly = false },
	"root_squash":    func(a *nfsserver.Access) { a.Squash = nfsserver.SquashRoot },
	"no_root_squash": func(a *nfsserver.Access) { a.Squash = nfsserver.SquashNone },
	"all_squash":     func(a *nfsserver.Access) { a.Squash = nfsserver.SquashAll },
	"no_all_squash": func(a *nfsserver.Access) {
		if a.Squash == nfsserver.SquashAll {
			a.Squash = nfsserver.SquashRoot
		}
	},
}

// setFlavors sets the flavours of a sec=. The first sec= of a list of options replaces those from
// before the list.
func (o *Options) setFlavors(list string) error {
	flavors, err := mount3.ParseFlavors(list)
	if err != nil {
		return err
	}
	if o.current == nil {
		o.Flavors, o.PerFlavor = nil, nil
	}
	for _, f := range flavors {
		if !slices.Contains(o.Flavors, f) {
			o.Flavors = append(o.Flavors, f)
		}
	}
	o.current = flavors
	return nil
}

// vary changes the access of the flavours in the last sec= of the list, or of all if there was
// none.
func (o *Options) vary(change func(*nfsserver.Access)) {
	flavors := o.current
	if flavors == nil {
		a := nfsserver.Access{ReadOnly: o.ReadOnly, Squash: o.Squash}
		change(&a)
		o.ReadOnly, o.Squash = a.ReadOnly, a.Squash
		flavors = slices.Collect(maps.Keys(o.PerFlavor))
	}
	for _, f := range flavors {
		a := o.access(f)
		change(&a)
		if o.PerFlavor == nil {
			o.PerFlavor = make(map[mount3.Flavor]nfsserver.Access)
		}
		o.PerFlavor[f] = a
	}
}

// access returns the access of callers with a flavour.
func (o *Options) access(f mount3.Flavor) nfsserver.Access {
	if a, ok := o.PerFlavor[f]; ok {
		return a
	}
	return nfsserver.Access{ReadOnly: o.ReadOnly, Squash: o.Squash}
}

// unite moves what is the same for all flavours from PerFlavor to ReadOnly and Squash.
func (o *Options) unite() {
	if len(o.PerFlavor) == 0 {
		return
	}
	first := o.access(o.Flavors[0])
	for _, f := range o.Flavors {
		if o.access(f) != first {
			return
		}
	}
	o.ReadOnly, o.Squash, o.PerFlavor = first.ReadOnly, first.Squash, nil
}
