//go:build race

package roce_test

func init() {
	manyShare = 5
}
