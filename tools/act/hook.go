package act

import (
	"context"
	"encoding/json"
	"strings"
)

// Hooks are the user's programs that run on events. It is safe for concurrent use.
type Hooks interface {
	Fire(context.Context, HookInput) HookAnswer // runs the hooks of an event and waits for them; returns the zero answer once the context has ended
}

// The events of hooks.
const (
	HookPreToolUse       = "PreToolUse"       // a call was planned, and nobody was asked yet
	HookPostToolUse      = "PostToolUse"      // a call ran
	HookUserPromptSubmit = "UserPromptSubmit" // a prompt is about to enter the conversation
	HookStop             = "Stop"             // the last answer is complete
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

// A HookAnswer is the combined answer of all hooks of an event.
type HookAnswer struct {
	Verdict  Verdict         // the strictest: Deny, Ask (regardless of rules) or Allow (only if a rule could); "": none
	Reason   string          // of the verdict
	Input    json.RawMessage // arguments that replace the call's; nil: unchanged
	Project  string          // project file whose hook changed Input; "": the user's own
	Contexts []string        // more text for the model, in the order of the configuration
	Notices  []string        // for the user
	Stop     bool            // end the turn
	StopWhy  string
}

// Context returns the additional text for the model.
func (a HookAnswer) Context() string { return strings.Join(a.Contexts, "\n\n") }
