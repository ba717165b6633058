package simulation

import (
	"fmt"
	"math"
	"sync"

	"github.com/anishathalye/porcupine"
)

// history records what the clients did and saw with shared objects: registers, which are files
// written and read whole, and the names in one directory.
//
// A call that failed without a reply may have been executed, or may be executed at any later time,
// because its message may still be under way. It counts as not returned when the history ends.
// Reads and look-ups that failed saw nothing, and are left out.
type history struct {
	mu    sync.Mutex // guards what follows
	clock int64
	ops   []porcupine.Operation
}

// op is an operation, as an input of the models.
type op struct {
	kind     string // "write", "read"; "create", "remove", "rename", "look"
	register int
	value    uint64 // written
	name, to int
}

// seen is the outcome of an operation.
type seen struct {
	unknown bool
	value   uint64 // read
	ok      bool   // no error: the name existed, or for create did not
}

// begin records the start of an operation, and returns a function that records its end.
func (h *history) begin(client int, in op) (end func(out seen)) {
	h.mu.Lock()
	h.clock++
	call := h.clock
	h.mu.Unlock()
	return func(out seen) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.clock++
		returned := h.clock
		if out.unknown {
			if in.kind == "read" || in.kind == "look" {
				return
			}
			returned = math.MaxInt64
		}
		h.ops = append(h.ops, porcupine.Operation{
			ClientId: client, Input: in, Output: out, Call: call, Return: returned,
		})
	}
}

// registers is a model of each register: it holds the value written last, initially 0.
var registers = porcupine.Model{
	Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
		byRegister := make(map[int][]porcupine.Operation)
		for _, o := range ops {
			switch in := o.Input.(op); in.kind {
			case "write", "read":
				byRegister[in.register] = append(byRegister[in.register], o)
			}
		}
		var all [][]porcupine.Operation
		for _, ops := range byRegister {
			all = append(all, ops)
		}
		return all
	},
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(op), output.(seen)
		if in.kind == "write" {
			return true, in.value
		}
		return out.value == state.(uint64), state
	},
	DescribeOperation: describe,
}

// names is a model of a directory: a set of names, as bits.
var names = porcupine.Model{
	Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
		var of []porcupine.Operation
		for _, o := range ops {
			switch o.Input.(op).kind {
			case "write", "read":
			default:
				of = append(of, o)
			}
		}
		return [][]porcupine.Operation{of}
	},
	Init: func() any { return uint(0) },
	Step: func(state, input, output any) (bool, any) {
		in, out, set := input.(op), output.(seen), state.(uint)
		name, to := uint(1)<<in.name, uint(1)<<in.to
		there := set&name != 0
		switch in.kind {
		case "look":
			return out.ok == there, set
		case "create":
			return out.unknown || out.ok == !there, set | name
		case "remove":
			return out.unknown || out.ok == there, set &^ name
		}
		if there {
			set = set&^name | to
		}
		return out.unknown || out.ok == there, set
	},
	DescribeOperation: describe,
}

func describe(input, output any) string {
	in, out := input.(op), output.(seen)
	came := fmt.Sprint(out.ok)
	switch {
	case out.unknown:
		came = "unknown"
	case in.kind == "write":
		return fmt.Sprintf("register %d is set to %d", in.register, in.value)
	case in.kind == "read":
		return fmt.Sprintf("register %d is %d", in.register, out.value)
	}
	switch in.kind {
	case "write":
		return fmt.Sprintf("register %d is set to %d: unknown", in.register, in.value)
	case "rename":
		return fmt.Sprintf("rename of %d to %d: %s", in.name, in.to, came)
	}
	return fmt.Sprintf("%s %d: %s", in.kind, in.name, came)
}

// check returns a description of what is wrong with the history, or "".
func (h *history) check() (wrong string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what, model := range map[string]porcupine.Model{
		"a register": registers, "a directory": names,
	} {
		for _, ops := range model.Partition(h.ops) {
			if porcupine.CheckOperations(model, ops) {
				continue
			}
			wrong += what + " that is not linearizable:\n"
			for _, o := range ops {
				wrong += fmt.Sprintf("client %d, %d to %d: %s\n", o.ClientId, o.Call, o.Return,
					describe(o.Input, o.Output))
			}
		}
	}
	return wrong
}
