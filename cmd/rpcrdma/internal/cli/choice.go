package cli

import (
	"errors"
	"strings"
)

// Choice is a flag that takes one of several words.
type Choice[T any] struct {
	options []option[T]
	Name    string
	Value   T
}

// option is a word of a choice and what it stands for.
type option[T any] struct {
	name  string
	value T
}

// Named is an option of a choice.
func Named[T any](name string, value T) option[T] { return option[T]{name, value} }

// NewChoice returns a choice with a default. It panics if no option has that name.
func NewChoice[T any](byDefault string, options ...option[T]) *Choice[T] {
	c := &Choice[T]{options: options}
	if err := c.Set(byDefault); err != nil {
		panic(err)
	}
	return c
}

// Set takes one of the words.
func (c *Choice[T]) Set(s string) error {
	for _, o := range c.options {
		if o.name == s {
			c.Name, c.Value = o.name, o.value
			return nil
		}
	}
	return errors.New("write one of " + c.Names())
}

// Words returns the words.
func (c *Choice[T]) Words() []string {
	var words []string
	for _, o := range c.options {
		words = append(words, o.name)
	}
	return words
}

// Names lists the words.
func (c *Choice[T]) Names() string { return strings.Join(c.Words(), ", ") }

// String returns the word that is chosen.
func (c *Choice[T]) String() string { return c.Name }

// Type names the value in the usage.
func (c *Choice[T]) Type() string { return "WORD" }
