package exports

import (
	"maps"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// access is what the options in varying say. As on Linux, all_squash and no_root_squash do not undo
// each other: with both, all are squashed.
type access struct{ rw, keepRoot, all bool }

// varying are the options that may differ between flavours.
var varying = map[string]func(*access){
	"ro":             func(a *access) { a.rw = false },
	"rw":             func(a *access) { a.rw = true },
	"root_squash":    func(a *access) { a.keepRoot = false },
	"no_root_squash": func(a *access) { a.keepRoot = true },
	"all_squash":     func(a *access) { a.all = true },
	"no_all_squash":  func(a *access) { a.all = false },
}

func (a access) rule() nfsserver.Access {
	r := nfsserver.Access{ReadOnly: !a.rw}
	switch {
	case a.all:
		r.Squash = nfsserver.SquashAll
	case a.keepRoot:
		r.Squash = nfsserver.SquashNone
	}
	return r
}

// setFlavors sets the flavours of a sec=. The first sec= of a list of options replaces those from
// before the list.
func (o *Options) setFlavors(list string) error {
	flavors, err := mount3.ParseFlavors(list)
	if err != nil {
		return err
	}
	if o.current == nil {
		o.Flavors, o.each = nil, nil
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
func (o *Options) vary(change func(*access)) {
	flavors := o.current
	if flavors == nil {
		change(&o.base)
		flavors = slices.Collect(maps.Keys(o.each))
	}
	for _, f := range flavors {
		a := o.access(f)
		change(&a)
		if o.each == nil {
			o.each = make(map[mount3.Flavor]access)
		}
		o.each[f] = a
	}
}

// access returns the access of callers with a flavour.
func (o *Options) access(f mount3.Flavor) access {
	if a, ok := o.each[f]; ok {
		return a
	}
	return o.base
}

// settle sets ReadOnly, Squash and PerFlavor. What is the same for all flavours is not in
// PerFlavor.
func (o *Options) settle() {
	if len(o.each) > 0 {
		first := o.access(o.Flavors[0])
		if !slices.ContainsFunc(o.Flavors, func(f mount3.Flavor) bool { return o.access(f) != first }) {
			o.base, o.each = first, nil
		}
	}
	r := o.base.rule()
	o.ReadOnly, o.Squash, o.PerFlavor = r.ReadOnly, r.Squash, nil
	for f, a := range o.each {
		if o.PerFlavor == nil {
			o.PerFlavor = make(map[mount3.Flavor]nfsserver.Access)
		}
		o.PerFlavor[f] = a.rule()
	}
}
