// Package files is the commands that list, show and change files of servers: ls, cat, stat,
// readlink, mkdir, rm, rmdir, mv, ln, touch, df, chmod and chown. Each has a constructor, such as
// NewLs.
//
// Package remote connects them to servers: remote.OnFiles calls a command's function with each
// file that the URLs name.
package files
