// Package copying is the commands get, put and cp. They walk what is to be copied and hand files to
// workers. Each writes to a temporary name, and renames the file when it is complete.
package copying
