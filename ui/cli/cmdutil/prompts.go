package cmdutil

import (
	"context"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
)

// A PromptFile is a prompt that a flag names.
type PromptFile struct {
	Name     string
	Model    string // provider/model or an alias; "" for none
	Effort   llm.Effort
	Tools    []string // nil for all
	Web      bool     // the answer may search the web
	System   string   // "" for none
	Project  bool     // it came with the working directory
	Commands bool     // its text contains the output of commands
	// Schema returns the schema of the answer; nil for none.
	Schema func(session.Schemas) (*llm.Schema, error)
	// Persona returns the system prompt of a whole conversation.
	Persona func() (string, error)
	// Template fills in arguments and reads the mentioned files. The settings are not in the template.
	Template func(ctx context.Context, o app.Options, args string) (t session.Template, notes []string, err error)
}
