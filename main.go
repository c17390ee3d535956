// Parley is a chat client for language models that lives in the terminal.
//
// This is the root of the program; package ui/cli holds the command line. Nothing imports it.
package main

import (
	"os"

	"parley/tools"
	"parley/tools/permission"
	"parley/tools/sandbox"
	"parley/ui/cli"
	"parley/ui/cli/exit"
	"parley/ui/clip/routes"
	"parley/ui/markdown"
	"parley/ui/markdown/mathtext"
	"parley/ui/markdown/mermaid"
	"parley/ui/tui/composer/vim"
)

func main() {
	exit.CheckAddressSpace()
	sandbox.Register() // the sandbox runs this program again to confine commands
	permission.Register()
	routes.Register()
	vim.Register()
	markdown.Drawings["mermaid"] = mermaid.Draw
	markdown.MathText = mathtext.Text
	tools.ScrubEnvironment()
	os.Exit(cli.Main(os.Args[1:]))
}
