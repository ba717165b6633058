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

// Of long lists the errors show the beginning.
const (
	maxShown  = 8 // exports
	maxGroups = 4 // groups of an export
)

// describe lists exports and for whom they are.
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

// describeGroups names those for whom an export is. Linux says * for everyone.
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

// join lists words as a sentence does.
func join(all []string) string {
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// quoted returns a name as it can be shown: what a server says may hold anything.
func quoted(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
