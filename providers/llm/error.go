package llm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is the category of an Error. Retries, fallbacks, compaction and hints
// act on it and on nothing else.
type Fault string

// Words returns the fault as a user says it: "rate limit".
func (f Fault) Words() string { return strings.ReplaceAll(string(f), "_", " ") }

// The faults.
const (
	Quota           Fault = "quota"            // no money or allowance left; waiting does not help
	RateLimit       Fault = "rate_limit"       // too fast; waiting helps
	Authentication  Fault = "authentication"   // key missing or wrong
	Permission      Fault = "permission"       // key right, but not for this
	ModelNotFound   Fault = "model_not_found"  //
	InvalidRequest  Fault = "invalid_request"  //
	ContextOverflow Fault = "context_overflow" // the conversation is too long for the model
	ContentFilter   Fault = "content_filter"   //
	Network         Fault = "network"          // the connection, or a stream that was cut
	Server          Fault = "server"           // the provider's own trouble
	Unsupported     Fault = "unsupported"      // the model or server lacks the ability, such as tools
	Mismatch        Fault = "replay_mismatch"  // a recording is replayed, and this request is not in it
	Unknown         Fault = "unknown"          //
)

// An Error is why a model did not answer, or stopped answering.
type Error struct {
	Fault    Fault         `json:"fault"`
	Provider string        `json:"provider,omitempty"` // as configured, such as "openai"
	Status   int           `json:"status,omitempty"`   // HTTP status; 0 if there was none
	Code     string        `json:"code,omitempty"`     // the provider's own code, such as "insufficient_quota"
	Param    string        `json:"param,omitempty"`    // the request field the provider complains about
	Wait     time.Duration `json:"wait,omitempty"`     // how long the server asked us to wait; zero if it did not say
	Message  string        `json:"message,omitempty"`  // the provider's words; untrusted text
	ID       string        `json:"id,omitempty"`       // the provider's id of the request, for its support
	URL      string        `json:"url,omitempty"`      // base URL that was asked
	Key      string        `json:"key,omitempty"`      // where the key comes from, such as "OPENAI_API_KEY"; never the key
	Err      error         `json:"-"`

	// Mistake says that the model went wrong, not the way to it: it wrote a call
	// that cannot be read, or nothing but thinking. It is worth one retry, which
	// loses nothing although thinking was shown.
	Mistake bool `json:"mistake,omitempty"`

	// Successor is the model that replaces the one that was not found, as
	// "provider/model"; "" if none is known.
	Successor string `json:"successor,omitempty"`
}

// ErrNoKey is in the error of a provider whose key is nowhere: connecting it gives it one.
var ErrNoKey = errors.New("no key")

// Error returns what happened, with the provider and its words.
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
		b.WriteString(" [request " + e.ID + "]") // what a provider's support asks for
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

// Hint returns what a user can do about err, in one sentence without a final
// period; "" if err is no *Error, whose words are then all there is.
func Hint(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	hint, ok := hints[e.Fault]
	if !ok {
		hint = hints[Unknown]
	}
	return hint(e)
}

// hints holds the advice for each fault.
var hints = map[Fault]func(*Error) string{
	Quota: func(e *Error) string {
		return fmt.Sprintf("top up the account of %s, or pick another model with -m or ctrl+x m", e.providerName())
	},
	RateLimit: func(e *Error) string {
		if e.Wait > 0 {
			return fmt.Sprintf("try again in %s, or pick another model", e.Wait.Round(time.Second))
		}
		return "wait a moment and try again, or pick another model"
	},
	Authentication: func(e *Error) string {
		if e.Key == "" {
			return fmt.Sprintf("add a key for %[1]s with /connect %[1]s or parley connect %[1]s, or pick another model", e.providerName())
		}
		if e.Status == 0 {
			return fmt.Sprintf("see to %s, where the key should come from", e.Key)
		}
		return fmt.Sprintf("check the key in %s: %s did not accept it", e.Key, e.where())
	},
	Permission: func(e *Error) string {
		return fmt.Sprintf("the key is valid, but %s does not allow this: check the plan, region and model access of the account", e.providerName())
	},
	ModelNotFound: func(e *Error) string {
		if e.Successor != "" {
			return "ask its successor: -m " + e.Successor
		}
		return "run parley models to see what there is, and pick one with -m"
	},
	InvalidRequest: func(e *Error) string {
		return fmt.Sprintf("%s refused the request; another model or fewer settings may pass", e.providerName())
	},
	ContextOverflow: func(e *Error) string {
		return "the conversation is longer than the model's window: start a new one, or pick a model with a larger window"
	},
	ContentFilter: func(e *Error) string { return "the provider's filter stopped this; rephrase, or pick another model" },
	Network: func(e *Error) string {
		return fmt.Sprintf("check the connection to %s and try again", e.where())
	},
	Server: func(e *Error) string {
		return fmt.Sprintf("%s has trouble of its own; try again, or pick another model", e.providerName())
	},
	Unsupported: func(e *Error) string { return "pick a model that can do this" },
	Mismatch: func(e *Error) string {
		return "ask the same as when it was recorded, with the same settings, tools and folder, or record it anew with --record"
	},
	Unknown: func(e *Error) string {
		return fmt.Sprintf("try again; if it stays, the words above are all that %s said", e.providerName())
	},
}

func (e *Error) providerName() string {
	if e.Provider == "" {
		return "the provider"
	}
	return e.Provider
}

func (e *Error) where() string {
	if e.URL == "" {
		return e.providerName()
	}
	return e.URL
}
