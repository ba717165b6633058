package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// list is a flag with comma-separated values.
type list[T comparable] struct {
	parse func(string) (T, error)
	of    []T
	all   []T // what "all" stands for
	text  string
}

func newList[T comparable](parse func(string) (T, error), byDefault ...T) *list[T] {
	return &list[T]{parse: parse, of: byDefault}
}

// Set takes values, each of them once.
func (l *list[T]) Set(s string) error {
	if s == "all" {
		l.of, l.text = l.all, s
		return nil
	}
	var of []T
	for word := range strings.SplitSeq(s, ",") {
		v, err := l.parse(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		if slices.Contains(of, v) {
			return fmt.Errorf("%s is given twice", word)
		}
		of = append(of, v)
	}
	l.of, l.text = of, s
	return nil
}

// String returns what was set.
func (l *list[T]) String() string { return l.text }

// Type names the value in the usage.
func (l *list[T]) Type() string { return "LIST" }

// cpusFlag is the CPUs of a server and a client.
type cpusFlag struct {
	server, client []int
	text           string
}

// Set takes SERVER:CLIENT, two lists of which one may be empty, or the word none.
func (c *cpusFlag) Set(s string) error {
	server, client, ok := strings.Cut(s, ":")
	if s == "none" {
		server, client, ok = "", "", true
	}
	if !ok {
		return errors.New("write CPUs of the server and of the client, such as 0:1, or none")
	}
	for _, side := range []struct {
		text string
		to   *[]int
	}{{server, &c.server}, {client, &c.client}} {
		*side.to = nil
		if side.text == "" {
			continue
		}
		cpus, err := host.ParseCPUs(side.text)
		if err != nil {
			return errors.New("write numbers of CPUs, such as 0,1:2,3, or none")
		}
		*side.to = cpus
	}
	c.text = s
	return nil
}

// String returns what was set.
func (c *cpusFlag) String() string { return c.text }

// Type names the value in the usage.
func (c *cpusFlag) Type() string { return "SERVER:CLIENT" }
