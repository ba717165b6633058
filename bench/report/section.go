package report

import "github.com/rpcrdma/go-rpcrdma/bench"

// section has the measurements of one path and way.
type section struct {
	path     bench.Path
	way      bench.Way
	measured []*bench.Measurement
}

func (s *section) title() string { return string(s.path) + ", " + string(s.way) }

// sections divides the measurements by path and way, in the order in which these first appear.
func sections(r *bench.Result) []*section {
	var all []*section
	type key struct {
		path bench.Path
		way  bench.Way
	}
	by := make(map[key]*section)
	for i := range r.Measured {
		m := &r.Measured[i]
		k := key{m.Path, m.Way}
		if by[k] == nil {
			by[k] = &section{path: m.Path, way: m.Way}
			all = append(all, by[k])
		}
		by[k].measured = append(by[k].measured, m)
	}
	return all
}
