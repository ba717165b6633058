// Package files is the commands that list, show and change files of servers: ls, cat, stat,
// readlink, mkdir, rm, rmdir, mv, ln, touch, df, chmod and chown.
package files
