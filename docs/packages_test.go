package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tests is what the test files of a package declare.
type tests struct {
	funcs  map[string][]string // the strings in each Test, Fuzz and Example
	shared []string            // those outside of them: tables of several tests, and helpers
}

// packages are those of this module that have tests, by their path in it.
type packages map[string]*tests

// suiteTest is the name of the tests that run a suite of another package, whose cases theirs are.
const suiteTest = "TestConformance"

// find returns the package that name stands for: its path, or as much of the end of it as no other
// has.
func (p packages) find(name string) (*tests, error) {
	if have, ok := p[name]; ok {
		return have, nil
	}
	var found []string
	for path := range p {
		if strings.HasSuffix(path, "/"+name) {
			found = append(found, path)
		}
	}
	switch slices.Sort(found); len(found) {
	case 0:
		return nil, fmt.Errorf("there is no package %s with tests", name)
	case 1:
		return p[found[0]], nil
	}
	return nil, fmt.Errorf("package %s is one of %s", name, strings.Join(found, ", "))
}

// check says what is missing of a test, or of a case of its table.
func (p packages) check(pkg, test, name string) error {
	have, err := p.find(pkg)
	if err != nil {
		return err
	}
	own, ok := have.funcs[test]
	if !ok {
		return fmt.Errorf("package %s has no %s", pkg, test)
	}
	// A test that runs its cases in several ways may have them in a function of nearly its own
	// name.
	ways := have.funcs["t"+strings.TrimPrefix(test, "T")]
	if name == "" || hasCase(own, name) || hasCase(ways, name) || hasCase(have.shared, name) {
		return nil
	}
	if test == suiteTest {
		for path, suite := range p {
			if isSuite(path) && hasCase(suite.shared, name) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s.%s has no case %q", pkg, test, strings.ReplaceAll(name, "_", " "))
}

// verb is one that puts a number or a word into a name.
var verb = regexp.MustCompile(`%[dsv]`)

// hasCase reports whether one of the strings of a test is the name of a case, or makes it with
// numbers or words put in.
func hasCase(strs []string, name string) bool {
	return slices.ContainsFunc(strs, func(s string) bool {
		if s == name {
			return true
		}
		fixed := verb.Split(s, -1)
		if len(fixed) == 1 || len(strings.Join(fixed, "")) < leastFixed {
			return false
		}
		for i := range fixed {
			fixed[i] = regexp.QuoteMeta(fixed[i])
		}
		return regexp.MustCompile("^" + strings.Join(fixed, `\w+`) + "$").MatchString(name)
	})
}

// leastFixed is how many bytes must be left of the format of a name without its verbs; others would
// make any name.
const leastFixed = 8

// isTable reports whether a package has the table of its tests outside of them.
func isTable(path string) bool { return path == "rpcrdma/matrix" }

// isSuite reports whether a package is a conformance suite: tests that other packages run.
func isSuite(path string) bool { return strings.HasSuffix(path, "test") }

// anywhere reports whether any package has a test.
func (p packages) anywhere(test string) bool {
	for _, have := range p {
		if _, ok := have.funcs[test]; ok {
			return true
		}
	}
	return false
}

// TestPackages checks what names of packages and cases stand for.
func TestPackages(t *testing.T) {
	p := packages{
		"rpcrdma":               {funcs: map[string][]string{"TestOne": {"a_case", "case_%d_of_%s", "%d_%s"}, "testOne": {"a_case_both_ways"}, "testTwo": {"of_another"}}},
		"cmd/rpcrdma":           {funcs: map[string][]string{"TestTwo": nil}},
		"oncrpc/rpcbind":        {funcs: map[string][]string{"TestOne": nil}},
		"interop/rpcbind":       {funcs: map[string][]string{"TestOne": nil}},
		"transport/iwarp":       {funcs: map[string][]string{suiteTest: nil, "TestOne": {"a_case"}}, shared: []string{"a_table"}},
		"transport/mediumtests": {shared: []string{"of_no_suite"}},
		"transport/suitetest":   {shared: []string{"order/one"}},
	}
	for _, tt := range []struct {
		pkg, test, name string
		ok              bool
	}{
		{"rpcrdma", "TestOne", "", true},
		{"rpcrdma", "TestTwo", "", false}, // the command's
		{"cmd/rpcrdma", "TestTwo", "", true},
		{"iwarp", "TestOne", "", true},
		{"warp", "TestOne", "", false},
		{"rpcbind", "TestOne", "", false}, // of two
		{"interop/rpcbind", "TestOne", "", true},
		{"iwarp", "TestOne", "a_case", true},
		{"rpcrdma", "TestOne", "case_5_of_all", true},
		{"rpcrdma", "TestOne", "case_of_all", false},
		{"rpcrdma", "TestOne", "a_case_both_ways", true},
		{"rpcrdma", "TestOne", "of_another", false},
		{"rpcrdma", "TestOne", "5_all", false}, // too little is left of the format
		{"iwarp", "TestOne", "a_table", true},
		{"iwarp", "TestOne", "another_case", false},
		{"iwarp", "TestOne", "order/one", false},
		{"iwarp", suiteTest, "order/one", true},
		{"iwarp", suiteTest, "order/two", false},
		{"iwarp", suiteTest, "of_no_suite", false},
	} {
		if err := p.check(tt.pkg, tt.test, tt.name); (err == nil) != tt.ok {
			t.Errorf("%s.%s/%s: got error %v, want none: %v", tt.pkg, tt.test, tt.name, err, tt.ok)
		}
	}
}
