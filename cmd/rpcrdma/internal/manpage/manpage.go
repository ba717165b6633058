// Package manpage writes man pages of commands, from their --help. The help is plain text, so the
// generator of package cobra/doc does not fit: it expects Markdown.
package manpage

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// Name returns the name of the page of a command: rpcrdma-serve for rpcrdma serve.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Write writes the page of a command in section 1. The version is in the foot of the page. There is
// no date, so that the same command has the same page.
func Write(w io.Writer, cmd *cobra.Command, version string) error {
	p := new(page)
	p.macro("TH", strings.ToUpper(Name(cmd)), "1", "", "go-rpcrdma "+version, "User Commands")
	p.macro("SH", "NAME")
	p.line(Name(cmd) + " - " + cmd.Short)
	p.macro("SH", "SYNOPSIS")
	p.synopsis(cmd)
	p.macro("SH", "DESCRIPTION")
	if cmd.Long != "" {
		p.text(cmd.Long)
	} else {
		p.line(cmd.Short + ".")
	}
	p.commands(cmd)
	p.flags(cmd)
	if cmd.HasExample() {
		p.macro("SH", "EXAMPLES")
		p.asIs(strings.Split(cmd.Example, "\n"))
	}
	p.seeAlso(cmd)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// page is a page as it is written.
type page struct{ b strings.Builder }

// macro writes a request of the man macros. Arguments are quoted.
func (p *page) macro(name string, args ...string) {
	p.b.WriteString("." + name)
	for _, a := range args {
		p.b.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.b.WriteString("\n")
}

// line writes a line of text.
func (p *page) line(s string) {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s // else it is a request
	}
	p.b.WriteString(s + "\n")
}

// escape escapes what is special in roff. A bare - would be a hyphen, which cannot be pasted into a
// shell.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`)

// text writes paragraphs, which empty lines separate. Indented ones are written as they are.
func (p *page) text(s string) {
	for i, paragraph := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		if strings.HasPrefix(lines[0], "  ") {
			p.asIs(lines)
			continue
		}
		if i > 0 {
			p.macro("PP")
		}
		for _, l := range lines {
			p.line(l)
		}
	}
}

// asIs writes lines as they are, without their common indentation.
func (p *page) asIs(lines []string) {
	p.macro("PP")
	p.macro("RS", "4")
	p.macro("nf")
	for _, l := range lines {
		p.line(strings.TrimPrefix(l, "  "))
	}
	p.macro("fi")
	p.macro("RE")
}

// synopsis writes how the command is used.
func (p *page) synopsis(cmd *cobra.Command) {
	p.macro("nf")
	if cmd.HasParent() && cmd.Runnable() {
		p.line(cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		p.line(cmd.CommandPath() + " command")
	}
	p.macro("fi")
}

// commands writes the list of subcommands.
func (p *page) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.macro("SH", "COMMANDS")
	for _, c := range Below(cmd) {
		p.macro("TP")
		p.macro("B", c.Name())
		p.line(c.Short + ".")
	}
}

// Below returns the subcommands that are not hidden.
func Below(cmd *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, c)
		}
	}
	return list
}

// flags writes the flags in the order of --help: the command's own, then those of connections.
func (p *page) flags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	all := cmd.LocalFlags()
	all.SortFlags = cmd.Flags().SortFlags
	for _, section := range []struct {
		title      string
		connection bool
	}{{"OPTIONS", false}, {"CONNECTION OPTIONS", true}} {
		titled := false
		all.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || cli.IsConnectionFlag(f) != section.connection {
				return
			}
			if !titled {
				p.macro("SH", section.title)
				titled = true
			}
			p.flag(f)
		})
	}
}

// flag writes a flag with its usage and its default, in the words of --help.
func (p *page) flag(f *pflag.Flag) {
	one := new(pflag.FlagSet)
	one.AddFlag(f)
	// Package pflag writes both in one line, with three spaces between them.
	name, usage, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
	p.macro("TP")
	p.macro("B", name)
	p.line(strings.TrimSpace(usage))
}

// seeAlso refers to the pages of the parent and of subcommands.
func (p *page) seeAlso(cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, Name(cmd.Parent()))
	}
	for _, c := range Below(cmd) {
		names = append(names, Name(c))
	}
	if len(names) == 0 {
		return
	}
	p.macro("SH", "SEE ALSO")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.b.WriteString(fmt.Sprintf(".BR %s (1)%s\n", escape(name), end))
	}
}
