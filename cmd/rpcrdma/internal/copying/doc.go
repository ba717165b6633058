// Package copying is the commands get, put and cp. NewGet, NewPut and NewCp return them.
//
// All three copy from one place to another; a place is a directory of this host or an export. A
// walk finds the files and hands them to workers. A worker writes a file under a temporary name,
// and renames it when it is complete.
package copying
