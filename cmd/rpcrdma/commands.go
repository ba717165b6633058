package main

import (
	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/bench"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/copying"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/demo"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/files"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/gateway"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// The groups of commands in the help.
const (
	groupServe = "serve"
	groupFiles = "files"
	groupOther = "other"
)

// grouped puts commands in a group. Their flags are shown in the order in which they are defined.
func grouped(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
		c.Flags().SortFlags = false
	}
	return commands
}

// addCommands adds all commands.
func addCommands(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: groupServe, Title: "Servers:"},
		&cobra.Group{ID: groupFiles, Title: "Files on servers:"},
		&cobra.Group{ID: groupOther, Title: "Other commands:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	servers := daemon.Configured(
		reach.Traced(serve.NewCommand(rpcbind.DialLocal), gateway.NewCommand())...)
	root.AddCommand(grouped(groupServe, servers...)...)
	onFiles := reach.Traced(files.NewLs(), files.NewCat(), files.NewStat(), files.NewReadlink(),
		files.NewMkdir(), files.NewRm(), files.NewRmdir(), files.NewMv(), files.NewLn(), files.NewTouch(),
		files.NewDF(), copying.NewCp())
	root.AddCommand(grouped(groupFiles, remote.Completed(0, false, onFiles...)...)...)
	changes := reach.Traced(files.NewChmod(), files.NewChown())
	root.AddCommand(grouped(groupFiles, remote.Completed(1, false, changes...)...)...)
	get, put := copying.NewGet(), copying.NewPut()
	get.SuggestFor, put.SuggestFor = []string{"copy", "download"}, []string{"copy", "upload"}
	root.AddCommand(grouped(groupFiles, remote.Completed(0, true, reach.Traced(get, put)...)...)...)
	root.AddCommand(grouped(groupOther, append(reach.Traced(probe.NewPing(), probe.NewCommand(),
		bench.NewCommand(), probe.NewConf(), demo.NewCommand()),
		newVersionCommand(), newManPagesCommand())...)...)
	remote.InitCompletion(root)
	initHelp(root)
	for _, c := range root.Commands() {
		remote.CompleteFlags(c)
	}
}
