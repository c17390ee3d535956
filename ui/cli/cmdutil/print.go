package cmdutil

import (
	"io"

	"parley/providers/llm"
	"parley/ui/theme"
)

// PrintOptions configure where and how the answer to a prompt is printed.
type PrintOptions struct {
	Format   string       // "text", "json" or "jsonl"
	Session  string       // ID of the conversation; "" is the session's
	Model    string       // model that answers; "" is the session's
	Compared []string     // models that answer, each repeated for each of its answers; fewer than two: no comparison
	Audience llm.Audience // who gets the advice in JSON; the zero value is llm.InShell
	Answers  int          // answers of each compared model; 0 is 1
	Answer   int          // number of this answer, from 1; 0 if it is the only one
	Out      io.Writer
	Err      io.Writer
	Quiet    bool                                    // only errors on Err
	Code     bool                                    // print only the first code block of the answer
	Raw      bool                                    // print the bytes of the answer as they came, not sanitized
	Schema   bool                                    // print only an answer that fits the schema
	Thinking bool                                    // print thinking on Err
	Render   bool                                    // render Markdown for a terminal
	Width    int                                     // of that terminal in cells; 0 is 80
	Demo     func(model string) bool                 // reports whether the built-in demo answers as model; nil: never
	Save     func(llm.Part) (path string, err error) // saves an image or a file of an answer; nil saves none
	Theme    *theme.Theme                            // for Err; nil is plain
	Markdown *theme.Theme                            // for rendered Markdown; nil is Theme
}
