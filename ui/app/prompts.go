package app

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
