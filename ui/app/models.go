package app

import (
	"parley/providers/llm"
)

// A ModelChoice is a model in the picker, in words for users.
type ModelChoice struct {
	Name      string // provider/model, or an alias
	Alias     string // model that the alias stands for; "" for a model
	Title     string // name given by its maker
	Abilities string // abilities in words
	Window    string // context window, such as "1.05M"
	Input     string // price of a million input tokens, such as "$2"
	Output    string
	Ready     bool         // can be asked now
	Why       string       // if not Ready: what is missing, such as "set OPENAI_API_KEY"
	LacksKey  bool         // only a key is missing; choosing the model asks for it
	Retired   bool         // being retired by its maker; hidden unless in use
	Retires   string       // retirement date, as 2006-01-02, if it is soon; "" otherwise
	Facts     llm.Endpoint // known facts; its Model is nil
}

// Warnings returns a short warning if the model is retired soon.
func (c ModelChoice) Warnings() []string {
	if c.Retires == "" {
		return nil
	}
	return []string{"retires on " + c.Retires}
}
