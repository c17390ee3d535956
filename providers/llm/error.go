package llm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is the category of an Error. It alone decides about retries, fallbacks, compaction and
// hints.
type Fault string

// Words returns the fault in words for the user: "rate limit".
func (f Fault) Words() string { return strings.ReplaceAll(string(f), "_", " ") }

// The faults.
const (
	Quota           Fault = "quota"            // credit or allowance used up; waiting does not help, unless the provider says when it resets
	RateLimit       Fault = "rate_limit"       // too many requests; waiting helps
	Authentication  Fault = "authentication"   // key missing or wrong
	Permission      Fault = "permission"       // the key is valid, but not for this
	ModelNotFound   Fault = "model_not_found"  //
	InvalidRequest  Fault = "invalid_request"  //
	ContextOverflow Fault = "context_overflow" // the conversation is too long for the model
	ContentFilter   Fault = "content_filter"   //
	Network         Fault = "network"          // the connection failed, or a stream was interrupted
	Server          Fault = "server"           // failure of the provider
	Unsupported     Fault = "unsupported"      // the model or server lacks the ability, such as tools
	Mismatch        Fault = "replay_mismatch"  // a replayed recording does not contain this request
	Unknown         Fault = "unknown"          //
)

// An Error is the reason why a model did not answer, or stopped answering.
type Error struct {
	Fault    Fault         `json:"fault"`
	Provider string        `json:"provider,omitempty"` // as configured, such as "openai"
	Status   int           `json:"status,omitempty"`   // HTTP status; 0 if there was none
	Code     string        `json:"code,omitempty"`     // the provider's error code, such as "insufficient_quota"
	Param    string        `json:"param,omitempty"`    // request field of the error; with KeyMissing, the arguments of the connect command
	Wait     time.Duration `json:"wait,omitempty"`     // wait that the server asked for; zero if none
	Allowed  time.Duration `json:"-"`                  // longest wait that the user allowed beforehand; zero for none
	Message  string        `json:"message,omitempty"`  // the provider's message; untrusted text
	ID       string        `json:"id,omitempty"`       // the provider's request id, for its support
	URL      string        `json:"url,omitempty"`      // base URL of the request
	Key      string        `json:"key,omitempty"`      // source of the key, such as "OPENAI_API_KEY"; never the key
	Err      error         `json:"-"`

	// Mistake marks an error of the model itself rather than of the connection to it: it wrote a
	// call that cannot be parsed, or nothing but thinking. It deserves one retry, even if thinking
	// was shown.
	Mistake bool `json:"mistake,omitempty"`

	// Advises means that Message contains advice: there is no hint.
	Advises bool `json:"advises,omitempty"`

	// Successor is the model that replaces the one that was not found, as
	// "provider/model"; "" if none is known.
	Successor string `json:"successor,omitempty"`

	// Purpose is the task of a model other than chat, named like parley's command: image, video,
	// embed; "" for chat.
	Purpose string `json:"purpose,omitempty"`

	KeyMissing bool `json:"key_missing,omitempty"` // no key was found; Key is where it could be set, "" if nowhere
	KeyStored  bool `json:"key_stored,omitempty"`  // parley stores the key, and can replace it

	Login string `json:"login,omitempty"` // command that logs in, for a program with its own login
}

// ErrNoKey is wrapped by the error of a provider without a key: connecting the provider sets one.
var ErrNoKey = errors.New("no key")

// Error returns the error with the provider and its message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Fault), "_", " "))
	if e.Status != 0 && e.Status != 200 {
		b.WriteString(" (" + strconv.Itoa(e.Status) + ")")
	}
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	}
	if e.ID != "" {
		b.WriteString(" [request " + e.ID + "]") // for the provider's support
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (f Fault) Temporary() bool {
	return f == RateLimit || f == Server || f == Network
}

// FaultOf returns the fault of err, or Unknown if it has none.
func FaultOf(err error) Fault {
	var e *Error
	if errors.As(err, &e) && e.Fault != "" {
		return e.Fault
	}
	return Unknown
}

// WaitOf returns the wait that the server asked for before err is retried; 0 if none.
func WaitOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.Wait
	}
	return 0
}

// An Audience is the place where a hint is shown; it decides the commands in the hint.
type Audience struct{ connect, set, model, image, models, wait string }

// The audiences.
var (
	InChat  = Audience{connect: "/connect", model: "/model", image: "/image", wait: "/wait"}
	InShell = Audience{connect: "parley connect", set: " --set ", model: "-m", image: "-m", models: "parley models", wait: "--wait"}
)

// ForTool returns the audience of errors of a tool: a model that calls it, and names other models in an argument.
func ForTool(argument string) Audience {
	return Audience{connect: "parley connect", set: " --set ", model: "the argument " + argument, models: "the tool models"}
}

// Hint returns a user's next step after err, in one sentence without a final period; "" if err is
// not an *Error, whose message is then complete.
func (a Audience) Hint(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Advises {
		return ""
	}
	if e.Purpose == "image" {
		a.model = a.image
	}
	if e.Purpose != "" && a.models != "" {
		a.models += " --" + e.Purpose
	}
	return e.hint(a)
}

// MaxReset is the longest time until the reset of a limit that is worth waiting for: weekly limits are the longest
// of subscriptions.
const MaxReset = 8 * 24 * time.Hour

// WaitText returns a waiting time in whole units, rounded up: 7 s, 12 min, 2 h, 3 days.
func WaitText(d time.Duration) string {
	up := func(unit time.Duration) int { return int((d + unit - 1) / unit) }
	switch {
	case d <= 90*time.Second:
		return fmt.Sprintf("%d s", up(time.Second))
	case d <= 90*time.Minute:
		return fmt.Sprintf("%d min", up(time.Minute))
	case d <= 48*time.Hour:
		return fmt.Sprintf("%d h", up(time.Hour))
	}
	return fmt.Sprintf("%d days", up(24*time.Hour))
}

// hint returns the advice for the fault of e.
func (e *Error) hint(a Audience) string {
	provider := e.providerName()
	switch e.Fault {
	case Quota:
		if e.Wait > 0 {
			return againHint(e, a)
		}
		return fmt.Sprintf("Add credit to your %s account, or choose another model with %s", provider, a.model)
	case RateLimit:
		if e.Wait > 0 {
			return againHint(e, a)
		}
		return "Wait a moment and try again, or choose another model with " + a.model
	case Authentication:
		return authenticationHint(e, a)
	case Permission:
		return fmt.Sprintf("The key is valid, but %s does not allow this: check the plan, region and model access of the account", provider)
	case ModelNotFound:
		switch {
		case e.Successor != "":
			return "Use its successor: " + a.model + " " + e.Successor
		case a.models != "":
			return "Run " + a.models + " to list models, and choose one with " + a.model
		}
		return "Choose another model with " + a.model
	case InvalidRequest:
		if e.URL != "" && (e.Status == 404 || e.Status == 405) {
			return "Check base_url, " + e.URL + ": for most servers it ends in /v1"
		}
		return fmt.Sprintf("%s rejected the request; another model (%s) or fewer settings may work", provider, a.model)
	case ContextOverflow:
		return "The conversation is too long for the context window: start a new one, or choose a model with a larger context window"
	case ContentFilter:
		return "The provider's filter stopped this; rephrase, or choose another model with " + a.model
	case Network:
		if e.URL == "" {
			return "Try again, or choose another model with " + a.model
		}
		return fmt.Sprintf("Check the connection to %s and try again", e.keyLocation())
	case Server:
		return fmt.Sprintf("%s reported a server error; try again, or choose another model with %s", provider, a.model)
	case Unsupported:
		return "Choose a model that supports this, with " + a.model
	case Mismatch:
		return "Send the same prompt with the same settings, tools and folder, or record again with --record"
	}
	return fmt.Sprintf("Try again; if it persists, this is all %s reported", provider)
}

// againHint returns the advice for a limit that resets after e.Wait.
func againHint(e *Error, a Audience) string {
	again := "Try again in " + WaitText(e.Wait)
	switch {
	case e.Purpose != "" || e.Wait > MaxReset || a.wait == "":
	case e.Allowed == 0:
		again += " (" + a.wait + " waits for it)"
	case e.Allowed < e.Wait:
		again += fmt.Sprintf(" (%s %v is shorter than that)", a.wait, e.Allowed)
	}
	return again + ", or choose another model with " + a.model
}

// authenticationHint returns different advice for a missing key, an unreadable key and a rejected
// key.
func authenticationHint(e *Error, a Audience) string {
	connect := a.connect
	if e.Provider != "" {
		connect += " " + e.Provider
	}
	if e.KeyMissing && a.set != "" { // a chat asks for the key
		for _, part := range strings.Fields(e.Param) {
			if connect += a.set + part; !strings.Contains(part, "=") {
				connect += "=" + strings.ToUpper(part)
			}
		}
	}
	switch {
	case e.KeyMissing && e.Login != "":
		return fmt.Sprintf("Run %s, then %s", e.Login, connect)
	case e.Login != "" && e.Key != "":
		return fmt.Sprintf("Check %s, or log in with %q", e.Key, e.Login)
	case e.Login != "":
		return fmt.Sprintf("Log in with %q, or choose another model with %s", e.Login, a.model)
	case e.KeyMissing && strings.Contains(e.Key, " "): // several variables, or a place in the configuration
		return fmt.Sprintf("Set %s, or run %s", e.Key, connect)
	case e.KeyMissing && e.Key != "":
		return fmt.Sprintf("Set %s or run %s", e.Key, connect)
	case e.KeyMissing, e.Key == "":
		return fmt.Sprintf("Add a key with %s, or choose another model with %s", connect, a.model)
	case e.Status == 0:
		return fmt.Sprintf("Check %s, which should provide the key", e.Key)
	case e.KeyStored:
		return fmt.Sprintf("Replace the key in %s with %s: %s rejected it", e.Key, connect, e.keyLocation())
	}
	return fmt.Sprintf("Replace the key in %s: %s rejected it", e.Key, e.keyLocation())
}

func (e *Error) providerName() string {
	if e.Provider == "" {
		return "the provider"
	}
	return e.Provider
}

// keyLocation returns the source of the key, for hints.
func (e *Error) keyLocation() string {
	if e.URL == "" {
		return e.providerName()
	}
	return e.URL
}
