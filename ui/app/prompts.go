package app

import "iter"

// PromptFiles tells where prompt files are.
type PromptFiles struct {
	Dir       string                                // of the user's own; "" for none
	Project   func() iter.Seq2[string, string]      // returns the paths and texts of those of a trusted project; nil: without files
	MayInsert func(path string, project bool) error // returns why a prompt (project: of the project) may not attach the file at path; nil allows every file
}

// Prompts are what the user sends by name, after a slash: prompts of files and of MCP servers, and skills. The prompts
// flow implements them.
type Prompts interface {
	Read()                          // reads the prompt files; may run on any goroutine. Until then none of them are known
	Items() []Item                  // lists the prompts
	Choices(name string) []Item     // lists the declared values for the arguments of a prompt
	Has(line string) bool           // reports whether Run would run line
	Run(line string) (Effect, bool) // runs "/name arguments"; false if line is not such a line
}

// Memory keeps lines that every new conversation gets: the user's, and those of the folder (here).
type Memory interface {
	Lines(here bool) []string
	Add(text string, here bool) error
	Replace(here bool, line, text string) error // an empty text forgets the line
	Path(here bool) string
	Edited(here bool) error // accepts the file of Path that the user has edited; the error says what is not used of it
}

// noPrompts are the prompts without their flow.
type noPrompts struct{}

func (noPrompts) Read()                     {}
func (noPrompts) Items() []Item             { return nil }
func (noPrompts) Choices(string) []Item     { return nil }
func (noPrompts) Has(string) bool           { return false }
func (noPrompts) Run(string) (Effect, bool) { return nil, false }
