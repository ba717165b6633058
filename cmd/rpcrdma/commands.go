package main

import (
	"github.com/spf13/cobra"

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
	root.AddGroup(&cobra.Group{ID: groupServe, Title: "Servers:"}, &cobra.Group{ID: groupFiles, Title: "Files on servers:"},
		&cobra.Group{ID: groupOther, Title: "Other commands:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	servers := traced(newServeCommand(rpcbind.DialLocal), newGatewayCommand())
	root.AddCommand(grouped(groupServe, servers...)...)
	onFiles := traced(newLsCommand(), newCatCommand(), newStatCommand(), newReadlinkCommand(),
		newMkdirCommand(), newRmCommand(), newMvCommand(), newLnCommand(), newTouchCommand(),
		newDFCommand())
	root.AddCommand(grouped(groupFiles, completed(0, false, onFiles...)...)...)
	changes := traced(newChmodCommand(), newChownCommand())
	root.AddCommand(grouped(groupFiles, completed(1, false, changes...)...)...)
	get, put := newGetCommand(), newPutCommand()
	get.SuggestFor, put.SuggestFor = []string{"cp", "copy", "download"}, []string{"cp", "copy", "upload"}
	root.AddCommand(grouped(groupFiles, completed(0, true, traced(get, put)...)...)...)
	root.AddCommand(grouped(groupOther, append(traced(newPingCommand(), newProbeCommand(),
		newBenchCommand(), newConfCommand(), newDemoCommand()), newVersionCommand())...)...)
	initCompletion(root)
	initHelp(root)
	for _, c := range root.Commands() {
		completeFlags(c)
	}
}
