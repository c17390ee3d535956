package plain

import (
	"testing"

	"parley/session"
	"parley/session/prompts"
)

// promptFiles returns what finds some prompts.
func promptFiles(t *testing.T, _ *session.Options) func() ([]prompts.Prompt, []error) {
	return func() (found []prompts.Prompt, problems []error) {
		for name, text := range map[string]string{
			"greet": "Greet $1", "tone": "Be {{tone:short|long}}", "named": "Ask {{who}}", "runs": "It printed !`echo hello`",
		} {
			p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley}, "/p/"+name+".md", []byte(text))
			if err != nil {
				t.Error(err)
			}
			found = append(found, p)
		}
		return found, nil
	}
}
