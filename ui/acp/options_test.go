package acp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/client"
)

// A client is offered the models that can be asked, and the efforts of the current one, if it has any.
func TestOfferedOptions(t *testing.T) {
	models := []app.ModelChoice{{Name: "a/1", Ready: true}, {Name: "a/2", Title: "Two", Ready: true}, {Name: "a/3"}, {Name: "a/4", Ready: true, Retired: true}, {Name: "fast", Alias: "a/2", Ready: true}}
	lib := session.MemoryStore()
	defer lib.Close()
	begin := func(efforts ...llm.Effort) *conversation {
		o := app.Options{Library: lib, Session: session.New(session.Options{Policy: tools.NewPolicy(act.ModeAsk), Model: llm.Endpoint{Name: "a/1", Efforts: efforts}})}
		o.Models.Choices = func() []app.ModelChoice { return models }
		return &conversation{app: app.New(o), opened: &client.Opened{App: o}}
	}
	for _, c := range []struct {
		efforts []llm.Effort
		want    string
	}{{nil, "model: a/1, a/2"}, {[]llm.Effort{"low", "high"}, "model: a/1, a/2 | effort: default, low, high"}} {
		var got []string
		for _, option := range begin(c.efforts...).options()[1:] {
			var values []string
			for _, v := range *option.Select.Options.Ungrouped {
				values = append(values, string(v.Value))
			}
			got = append(got, fmt.Sprintf("%s: %s", option.Select.Id, strings.Join(values, ", ")))
		}
		if got := strings.Join(got, " | "); got != c.want {
			t.Errorf("with efforts %q: got %s, want %s", c.efforts, got, c.want)
		}
	}
	conversation := begin("low", "high")
	for _, step := range []struct {
		value, failure string
		want           llm.Effort
	}{{"high", "", "high"}, {"max", `no effort "max": use default or one of low, high`, "high"}, {"low", "", "low"}, {"default", "", ""}} {
		failure := ""
		var refused *sdk.RequestError
		if errors.As(conversation.setEffort(step.value), &refused) {
			failure = refused.Message
		}
		if got := conversation.app.Session.Next.Effort(); got != step.want || failure != step.failure {
			t.Errorf("%s: effort %q, %q; want %q, %q", step.value, got, failure, step.want, step.failure)
		}
	}
}
