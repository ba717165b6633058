package treemodel

import (
	"encoding/json"
	"io"
	"io/fs"
)

// saved is the form of a model in a file.
type saved struct {
	Things []savedThing
	Names  map[string]int // from path to index in Things
}

type savedThing struct {
	Mode fs.FileMode
	Data []byte
	To   string
}

// Save writes the model, so that another process can compare the files with it later.
func (m *Model) Save(w io.Writer) error {
	s := saved{Names: make(map[string]int)}
	numbers := make(map[*thing]int)
	for p, x := range m.things {
		n, ok := numbers[x]
		if !ok {
			n = len(s.Things)
			numbers[x] = n
			s.Things = append(s.Things, savedThing{x.mode, x.data, x.to})
		}
		s.Names[p] = n
	}
	return json.NewEncoder(w).Encode(s)
}

// Load reads a model that Save wrote.
func Load(r io.Reader) (*Model, error) {
	var s saved
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return nil, err
	}
	things := make([]*thing, len(s.Things))
	for i, x := range s.Things {
		things[i] = &thing{x.Mode, x.Data, x.To}
	}
	m := New(0, 0)
	for p, n := range s.Names {
		m.things[p] = things[n]
	}
	return m, nil
}
