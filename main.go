// Parley is a chat client for language models that lives in the terminal.
//
// This is the root of the program: what runs in it is ui/cli's to say. Nothing
// imports it.
package main

import (
	"os"

	"parley/tools"
	"parley/tools/permission"
	"parley/tools/sandbox"
	"parley/ui/cli"
	"parley/ui/cli/exit"
)

func main() {
	exit.CheckAddressSpace()
	sandbox.Register() // what confines a command is this program too
	permission.Register()
	tools.ScrubEnvironment()
	os.Exit(cli.Main(os.Args[1:]))
}
