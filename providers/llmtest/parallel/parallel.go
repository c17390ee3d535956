// Package parallel sets how many tests of a package run at the same time.
package parallel

import (
	"flag"
	"strconv"
)

// Tests lets n tests run at the same time, for tests that wait more than they compute. The flag
// -parallel takes precedence. Call it from TestMain; it parses the flags.
func Tests(n int) {
	flag.Parse()
	if tests := flag.Lookup("test.parallel"); tests.Value.String() == tests.DefValue {
		_ = tests.Value.Set(strconv.Itoa(n)) // a number is always valid
	}
}
