package main

import (
	"errors"
	"strings"
)

// choice is a flag that takes one of several words.
type choice[T any] struct {
	options []option[T]
	name    string
	value   T
}

// option is a word of a choice and what it stands for.
type option[T any] struct {
	name  string
	value T
}

func named[T any](name string, value T) option[T] { return option[T]{name, value} }

// newChoice returns a choice that is made already, by default.
func newChoice[T any](byDefault string, options ...option[T]) *choice[T] {
	c := &choice[T]{options: options}
	if err := c.Set(byDefault); err != nil {
		panic(err)
	}
	return c
}

// Set chooses.
func (c *choice[T]) Set(s string) error {
	for _, o := range c.options {
		if o.name == s {
			c.name, c.value = o.name, o.value
			return nil
		}
	}
	return errors.New("there is: " + c.names())
}

// words returns the words.
func (c *choice[T]) words() []string {
	var words []string
	for _, o := range c.options {
		words = append(words, o.name)
	}
	return words
}

// names lists the words.
func (c *choice[T]) names() string { return strings.Join(c.words(), ", ") }

// String returns the word that is chosen.
func (c *choice[T]) String() string { return c.name }

// Type names the value in the usage.
func (c *choice[T]) Type() string { return "WORD" }
