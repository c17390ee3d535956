package act

import (
	"context"
	"encoding/json"
	"strings"
)

// Hooks are programs of the user's that run on events. It is safe for concurrent use.
type Hooks interface {
	Fire(context.Context, HookInput) HookAnswer // runs those of an event and waits for them; the zero answer once the context has ended
}

// The events of hooks.
const (
	HookPreToolUse       = "PreToolUse"       // a call was understood, and nobody was asked yet
	HookPostToolUse      = "PostToolUse"      // a call ran
	HookUserPromptSubmit = "UserPromptSubmit" // a prompt is about to enter the conversation
	HookStop             = "Stop"             // everything is answered
	HookNotification     = "Notification"     // the user is asked about a call
	HookSessionStart     = "SessionStart"     // the first prompt is about to be sent
	HookSessionEnd       = "SessionEnd"       // a conversation that began is closed
)

// A HookInput is the report of an event to hooks.
type HookInput struct {
	Session      string          `json:"session_id"`
	Dir          string          `json:"cwd"`
	Event        string          `json:"hook_event_name"`
	Tool         string          `json:"tool_name,omitempty"`
	Input        json.RawMessage `json:"tool_input,omitempty"`
	Response     *HookResponse   `json:"tool_response,omitempty"`
	Prompt       string          `json:"prompt,omitempty"`
	Source       string          `json:"source,omitempty"` // of SessionStart: startup or resume
	StopActive   bool            `json:"stop_hook_active,omitempty"`
	LastMessage  string          `json:"last_assistant_message,omitempty"`
	Message      string          `json:"message,omitempty"`
	Notification string          `json:"notification_type,omitempty"`
}

// A HookResponse is the answer of a tool.
type HookResponse struct {
	Output string `json:"output"`
	Failed bool   `json:"is_error"`
}

// A HookAnswer is the answer of all hooks of an event.
type HookAnswer struct {
	Verdict  Verdict         // the strictest: Deny, Ask (whatever is allowed) or Allow (only if a rule could); "": nothing
	Reason   string          // of the verdict
	Input    json.RawMessage // arguments in the place of those of the call; nil: as they are
	Project  string          // the project's file that a changed input comes from; "": the user's own
	Contexts []string        // more for the model, in the order of the configuration
	Notices  []string        // for the user
	Stop     bool            // the turn is to end
	StopWhy  string
}

// Context returns what the model is to be told besides.
func (a HookAnswer) Context() string { return strings.Join(a.Contexts, "\n\n") }
