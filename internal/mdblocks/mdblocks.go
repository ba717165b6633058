// Package mdblocks finds the code blocks of README.md and docs/*.md, for the tests that compile and
// run them. The info string of a fence says what a test does with the block:
//
//	go           it is, line for line, in a Go file of this repository; "// ..." stands for lines
//	             that the document leaves out
//	sh           it is run as printed, on this machine, by docs.TestCommands
//	sh linux     it is run as printed, by root of a virtual machine, in interop/linux
//	sh kerberos  its commands are run with a KDC, in interop/kerberos/commands
//	sh hand      nobody runs it; the text before says why
//	toml         "rpcrdma serve --check --config" accepts it
//	json         it is valid
//	text, ini, promql, yaml: nothing is checked
//
// A command that must fail says so in its comment: "# exit 1".
package mdblocks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a code block.
type Block struct {
	File   string // relative to the root of the repository
	Line   int    // number of the opening fence
	Info   string // what follows the fence: the language, and how the block is run
	Text   string // without the indentation of the fence
	Before string // the last line of text before the block
}

// String says where the block is.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Guest says how the guest that runs a block for Linux mounts: "rxe", "siw" or "tcp". It is empty
// if no guest of interop/linux can run the block.
func (b Block) Guest() string {
	mounts := strings.Contains(b.Text, "mount -t nfs ")
	switch {
	case mounts && strings.Contains(b.Text, "rdma link add rxe0 type rxe netdev eth0"):
		return "rxe"
	case mounts && strings.Contains(b.Text, "rdma link add siw0 type siw netdev eth0"):
		return "siw"
	case mounts && strings.Contains(b.Text, ",tcp,") && !strings.Contains(b.Text, "rdma"):
		return "tcp"
	}
	return ""
}

// Documents returns the paths, relative to root, of the files whose blocks are tested: README.md
// and docs/*.md, except docs/soak.md, which a script writes.
func Documents(root string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	files := []string{"README.md"}
	for _, path := range paths {
		if name := filepath.Base(path); name != "soak.md" {
			files = append(files, "docs/"+name)
		}
	}
	return files, nil
}

// listItem is how an item of a list begins. Its text may be indented.
var listItem = regexp.MustCompile(`^\s*([-*]|\d+\.) `)

// Read returns the blocks of a file. It fails if a code block is indented rather than fenced, or if
// a fence is not closed.
func Read(root, file string) ([]Block, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	var (
		blocks                  []Block
		before                  string
		inBlock, inList, wasGap bool
		indent                  string
	)
	wasGap = true
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		fence := strings.HasPrefix(trimmed, "```")
		switch {
		case inBlock && fence:
			inBlock = false
		case inBlock:
			blocks[len(blocks)-1].Text += strings.TrimPrefix(line, indent) + "\n"
		case fence:
			inBlock, indent = true, line[:len(line)-len(trimmed)]
			info := strings.TrimSpace(strings.TrimLeft(trimmed, "`"))
			blocks = append(blocks, Block{File: file, Line: i + 1, Info: info, Before: before})
		case trimmed == "":
			wasGap = true
			continue
		case wasGap && !inList && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			return nil, fmt.Errorf("%s:%d: a code block without a fence", file, i+1)
		default:
			before = line
			inList = listItem.MatchString(line) || inList && trimmed != line
		}
		wasGap = false
	}
	if inBlock {
		return nil, fmt.Errorf("%v: the block has no end", blocks[len(blocks)-1])
	}
	return blocks, nil
}

// ReadAll returns the blocks of all documents that have one of some info strings.
func ReadAll(root string, infos ...string) ([]Block, error) {
	files, err := Documents(root)
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, file := range files {
		blocks, err := Read(root, file)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			if slices.Contains(infos, b.Info) {
				all = append(all, b)
			}
		}
	}
	return all, nil
}

// Command is one command of a block, with the lines that continue it.
type Command struct {
	Line int // in the file
	Text string
	Exit string // the exit code that its comment promises, "0" if it promises none
}

var (
	heredoc  = regexp.MustCompile(`<<-?\s*'?(\w+)'?`)
	exitCode = regexp.MustCompile(`#.*\bexit (\d+)`)
)

// Commands divides a block of commands. A command goes on after a line that ends in a backslash,
// and to the end of a here-document.
func (b Block) Commands() []Command {
	var list []Command
	more, end := false, ""
	for i, line := range strings.Split(b.Text, "\n") {
		trimmed := strings.TrimSpace(line)
		if !more && (trimmed == "" || trimmed[0] == '#') {
			continue
		}
		if !more {
			list = append(list, Command{Line: b.Line + 1 + i, Exit: "0"})
		}
		c := &list[len(list)-1]
		c.Text += line + "\n"
		if m := exitCode.FindStringSubmatch(line); m != nil && end == "" {
			c.Exit = m[1]
		}
		if m := heredoc.FindStringSubmatch(line); m != nil && end == "" {
			end = m[1]
		} else if trimmed == end {
			end = ""
		}
		more = end != "" || strings.HasSuffix(line, "\\")
	}
	return list
}
