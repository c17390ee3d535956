package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"parley/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	if len(os.Args) > 1 && os.Args[1] == role {
		os.Exit(asCaller(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == probe {
		os.Exit(tryEscapes())
	}
	goleak.VerifyTestMain(m)
}
