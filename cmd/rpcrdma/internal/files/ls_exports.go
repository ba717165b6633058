package files

// exportList is a URL of a directory that is not exported, and what is exported below it.
type exportList struct {
	url   string
	names []string
}
