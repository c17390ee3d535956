package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// A Sender sends a request, and resends it without the optional parts that the server refuses.
type Sender struct {
	Options  Options
	Notices  *llm.Notices   // notices already shown to the user
	Attempts int            // number of times a request is sent if the server refuses another field each time
	Extra    map[string]any // the request's llm.Settings.Options, which may be refused too; see Options.Fields

	// Compile encodes the request. The notices say what was omitted. Whole requests a body without
	// items cached as JSON; see Histories.
	Compile func(whole bool) (body map[string]any, notices []string)
	// Send sends body. ErrAgain and Final are special errors.
	Send func(body map[string]any) error
	// Downgrade checks whether the server refused an optional part of body. If so, it learns the
	// limit and returns a notice for the user.
	Downgrade func(fault *llm.Error, body map[string]any) (notice string, ok bool)
	// Explain clarifies the message of an error about body; may be nil.
	Explain func(fault *llm.Error, body map[string]any)
}

// ErrAgain requests another attempt at once: a limit was learned from this one.
var ErrAgain = errors.New("send again")

// Final is an error after which nothing is dropped: the user has seen part of the answer, or
// dropping would not help.
type Final struct{ Err error }

func (f Final) Error() string { return f.Err.Error() }

// Do sends the request. It returns nil on success, or if the consumer of out has left.
func (s Sender) Do(ctx context.Context, out *llm.Out) error {
	limits, told := s.Options.Learned, false
	for attempt := 1; !out.Stopped(); attempt++ {
		known := limits.Revision()
		body, notices := s.Compile(false)
		if told { // the notice was already given in other words
			s.Notices.MarkSeen(slices.DeleteFunc(slices.Clone(notices), func(n string) bool { return !isNotSent(s.Options.Model, n) })...)
		}
		s.Notices.SendOnce(out, notices...)
		err := s.Send(body)
		if final, ok := err.(Final); ok {
			return final.Err
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err == ErrAgain {
			continue
		}
		fault := s.Options.WithProvider(err)
		if holdsList(body) { // the refused part may be in the cached items
			body, _ = s.Compile(true)
		}
		notice, resend := "", false
		limits.Judge(known, func(changed bool) {
			if changed && MayBlameField(fault) {
				resend = true // another request was refused at the same time and taught a limit
				return
			}
			if notice, resend = s.refusedOption(fault); !resend {
				notice, resend = s.Downgrade(fault, body)
			}
		})
		if !resend || attempt == s.Attempts+len(s.Extra) {
			if s.Explain != nil {
				s.Explain(fault, body)
			}
			return fault
		}
		s.Notices.SendOnce(out, notice)
		told = notice != ""
	}
	return nil
}

// MayBlameField reports whether a server's refusal may be about an optional field of the request.
func MayBlameField(fault *llm.Error) bool {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return false
	}
	return fault.Fault == llm.InvalidRequest || fault.Fault == llm.Unsupported || fault.Fault == llm.Unknown
}

// UnusedThinking returns the notice that a provider ignored n parts of earlier thinking, with its
// reason, which may be empty; "" if n is 0.
func UnusedThinking(n int, reason string) string {
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("earlier thinking not used by the provider (%d)", n)
	if reason != "" {
		text += ": " + strings.ReplaceAll(reason, "_", " ")
	}
	return text
}

// LeftOut returns the notice for a setting that a model does not support.
func LeftOut(model, what string) string {
	return fmt.Sprintf("%s does not support %s; not sent", model, what)
}

// In the functions below, a dot in the name of a field descends into an object.

// Field returns a field of body, and whether it exists.
func Field(body map[string]any, field string) (any, bool) {
	outer, inner, nested := strings.Cut(field, ".")
	value, ok := body[outer]
	if !nested || !ok {
		return value, ok
	}
	object, _ := value.(map[string]any)
	return Field(object, inner)
}

// SetField sets a field of body, creating enclosing objects.
func SetField(body map[string]any, field string, value any) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		body[field] = value
		return
	}
	object, ok := body[outer].(map[string]any)
	if !ok {
		object = map[string]any{}
		body[outer] = object
	}
	SetField(object, inner, value)
}

// DropField removes a field from body, together with objects that become empty, and reports whether
// it existed.
func DropField(body map[string]any, field string) (sent bool) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		_, sent = body[field]
		delete(body, field)
		return sent
	}
	object, _ := body[outer].(map[string]any)
	sent = DropField(object, inner)
	if len(object) == 0 {
		delete(body, outer)
	}
	return sent
}

// HasWebTool reports whether a body, or the user's addition to it, contains a web search tool under
// the name of any service.
func HasWebTool(body map[string]any) bool {
	data, err := json.Marshal(body["tools"])
	return err == nil && webTool.Match(data)
}

var webTool = lazy.NewRegexp(`"(type":"[^"]*web_search[^"]*"|google_?[sS]earch":)`)

// WithoutWeb returns the notice for a server that refused to search the web.
func WithoutWeb(model string) string {
	return model + " does not search the web here; sent again without"
}

// RefusesWeb reports whether a server's refusal is about the web search that body requests.
func RefusesWeb(fault *llm.Error, body map[string]any) bool {
	return MayBlameField(fault) && webRefused.MatchString(fault.Param+" "+fault.Message) && HasWebTool(body)
}

var webRefused = lazy.NewRegexp(`(?i)web[_ ]?search|google[_ ]?search|search grounding|grounding is not|tool use with function calling|(hosted|server|built-?in)([- ]side)? tools?|includeServerSideToolInvocations`)

// WithoutDetail returns the notice that a model does not support Settings.Detail, if one is set and
// req contains images.
func WithoutDetail(model string, req llm.Request) []string {
	if req.Detail == "" || req.Detail == "auto" || !req.HasImages() {
		return nil
	}
	return []string{LeftOut(model, "the detail of images")}
}
