package nfsmount

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// Errors show only the beginning of long lists.
const (
	maxShown  = 8 // exports
	maxGroups = 4 // groups of an export
)

// describe lists exports, and which clients may use them.
func describe(list []mount3.Export) string {
	var all []string
	for _, x := range list[:min(len(list), maxShown)] {
		all = append(all, quoted(x.Path)+" (to "+describeGroups(x.Groups)+")")
	}
	if more := len(list) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return join(all)
}

// describeGroups lists the clients of an export. Linux writes * for everyone.
func describeGroups(groups []string) string {
	if len(groups) == 0 || slices.Contains(groups, "*") {
		return "everyone"
	}
	var all []string
	for _, g := range groups[:min(len(groups), maxGroups)] {
		all = append(all, quoted(g))
	}
	if more := len(groups) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return join(all)
}

// join joins words by commas and "and".
func join(all []string) string {
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// quoted quotes a name that comes from the server, if it contains anything unprintable.
func quoted(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
