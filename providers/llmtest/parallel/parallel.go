// Package parallel says how many tests of a package run at a time.
package parallel

import (
	"flag"
	"strconv"
)

// Tests has n tests run at a time, for those that wait more than they compute, unless -parallel says
// how many. It is for TestMain, and parses the flags.
func Tests(n int) {
	flag.Parse()
	if tests := flag.Lookup("test.parallel"); tests.Value.String() == tests.DefValue {
		_ = tests.Value.Set(strconv.Itoa(n)) // a number has no error
	}
}
