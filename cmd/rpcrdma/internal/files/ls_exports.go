package files

// exportList is the URL of a directory that is not exported, and the exports below it.
type exportList struct {
	url   string
	names []string
}
