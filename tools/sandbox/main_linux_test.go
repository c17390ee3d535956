package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/llmtest/parallel"
	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Register()
	if len(os.Args) > 1 && os.Args[1] == role {
		os.Exit(runAsCaller(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == probe {
		os.Exit(tryEscapes())
	}
	parallel.Tests(16)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if all, _ := fixtures(); all != "" {
			os.RemoveAll(all)
		}
		os.Exit(code)
	}))
}
