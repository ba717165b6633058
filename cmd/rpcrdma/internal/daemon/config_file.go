package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// configFlag names the file that has values for the other flags.
const configFlag = "config"

// Configured adds the flag --config to commands. It names a file with values for all other flags.
func Configured(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		path := c.Flags().String(configFlag, "", "`FILE` in TOML that sets flags by their names; "+
			"flags on the command line win")
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed(configFlag) {
				if err := readConfig(*path, cmd.Flags()); err != nil {
					return fmt.Errorf("--%s %s: %w", configFlag, cli.Printable(*path), err)
				}
			}
			return run(cmd, args)
		}
	}
	return commands
}

// readConfig sets flags to their values in a file, unless the command line has set them.
func readConfig(path string, flags *pflag.FlagSet) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	var values map[string]any
	read, err := toml.Decode(string(b), &values)
	if err != nil {
		return cli.UsageError{Err: tomlError(err)}
	}
	given := make(map[string]bool) // by the command line
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, key := range read.Keys() {
		name := key.String() // has a dot if it is in a table
		f := flags.Lookup(name)
		if f == nil || name == configFlag || name == "help" {
			return cli.Usagef("there is no flag %s%s", cli.Printable(name),
				cli.DidYouMean("", cli.FlagsLike(flags, name)))
		}
		words, err := wordsOf(f, values[name])
		if err != nil {
			return cli.Usagef("%s: %w", name, err)
		}
		if given[name] {
			continue
		}
		for _, word := range words {
			if err := flags.Set(name, word); err != nil {
				return cli.UsageError{Err: err}
			}
		}
	}
	return nil
}

// tomlError says in which line of a file the syntax is wrong.
func tomlError(err error) error {
	var wrong toml.ParseError
	if errors.As(err, &wrong) {
		return fmt.Errorf("line %d: %s", wrong.Position.Line, wrong.Message)
	}
	return err
}

// wordsOf returns a value of a file as words of the command line. A list is one word for each use
// of the flag.
func wordsOf(f *pflag.Flag, value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		word, err := wordOf(f, value)
		return []string{word}, err
	}
	if _, ok := f.Value.(interface{ Repeatable() }); !ok {
		return nil, errors.New("this flag takes one value, not a list")
	}
	words := make([]string, len(list))
	for i, value := range list {
		var err error
		if words[i], err = wordOf(f, value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// wordOf returns a single value as the flag takes it.
func wordOf(f *pflag.Flag, value any) (string, error) {
	isBool := f.Value.Type() == "bool"
	switch v := value.(type) {
	case bool:
		if isBool {
			return strconv.FormatBool(v), nil
		}
	case string:
		if !isBool {
			return v, nil
		}
	case int64:
		if !isBool {
			return strconv.FormatInt(v, 10), nil
		}
	}
	if isBool {
		return "", errors.New("write true or false, without quotes")
	}
	return "", errors.New("write a number, or text in quotes")
}
