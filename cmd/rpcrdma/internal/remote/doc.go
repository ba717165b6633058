// Package remote is the session of a command with servers. A [Session] connects to the servers of
// the URLs that it is given, and finds their exports. [OnURLs] does something with each file that
// is named, and goes on where one makes trouble.
package remote
