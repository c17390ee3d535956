package sandbox_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.RaiseTimeLimits()
	sandbox.ReadFewNames()
	sandbox.RunIfHelper()
	if len(os.Args) > 1 && os.Args[1] == role {
		os.Exit(runAsCaller(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == probe {
		os.Exit(tryEscapes())
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they mostly wait
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if all, _ := fixtures(); all != "" {
			os.RemoveAll(all)
		}
		os.Exit(code)
	}))
}
