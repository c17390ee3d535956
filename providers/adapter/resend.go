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

// A Sender sends a request, and repeats it without what the server refused and an answer can do
// without.
type Sender struct {
	Options  Options
	Notices  *llm.Notices   // those the user has seen
	Attempts int            // how often a request is sent that the server keeps refusing, each time without something else
	Extra    map[string]any // the request's llm.Settings.Options; each may be refused as well; see Options.Fields

	// Compile writes the request, and what of it had to be left out for the user to
	// see. Whole asks for a body without items kept as JSON; see Histories.
	Compile func(whole bool) (body map[string]any, notices []string)
	// Send sends body. ErrAgain and Final are errors of their own meaning.
	Send func(body map[string]any) error
	// Downgrade finds what the server refused and body can do without, learns it, and
	// returns what to tell the user.
	Downgrade func(fault *llm.Error, body map[string]any) (notice string, ok bool)
	// Explain makes plainer what an error says about body; nil leaves it.
	Explain func(fault *llm.Error, body map[string]any)
}

// ErrAgain asks for another attempt at once: something was learned from this one.
var ErrAgain = errors.New("send again")

// Final is an error after which nothing is left out: the user has seen some of the
// answer, or it cannot be helped.
type Final struct{ Err error }

func (f Final) Error() string { return f.Err.Error() }

// Do sends the request. It returns nil if that succeeded or the consumer of out has
// left.
func (s Sender) Do(ctx context.Context, out *llm.Out) error {
	limits, told := s.Options.Learned, false
	for attempt := 1; !out.Stopped(); attempt++ {
		known := limits.Revision()
		body, notices := s.Compile(false)
		if told { // in other words
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
		if holdsList(body) { // what was refused may be in there
			body, _ = s.Compile(true)
		}
		notice, resend := "", false
		limits.Judge(known, func(changed bool) {
			if changed && MayBlameField(fault) {
				resend = true // a request beside this one was refused as well, and learned from it
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

// MayBlameField reports whether a server's refusal may be about a field of the
// request, which could be left out.
func MayBlameField(fault *llm.Error) bool {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return false
	}
	return fault.Fault == llm.InvalidRequest || fault.Fault == llm.Unsupported || fault.Fault == llm.Unknown
}

// UnusedThinking returns the notice that a provider did not use n parts of earlier thinking, for the
// reason that it gave, which may be empty; "" if n is 0.
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

// LeftOut returns the notice of a setting that a model does not take.
func LeftOut(model, what string) string {
	return fmt.Sprintf("%s does not support %s; not sent", model, what)
}

// A field of a request with a dot in its name stands in an object.

// Field returns a field of body, and whether it is there.
func Field(body map[string]any, field string) (any, bool) {
	outer, inner, nested := strings.Cut(field, ".")
	value, ok := body[outer]
	if !nested || !ok {
		return value, ok
	}
	object, _ := value.(map[string]any)
	return Field(object, inner)
}

// SetField writes a field of body, and the objects around it.
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

// DropField takes a field out of body, with the objects that are then empty, and
// reports whether it was there.
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

// HasWebTool reports whether a body, or what the user adds to it, has a tool that searches the
// web, under whatever name its service has for it.
func HasWebTool(body map[string]any) bool {
	data, err := json.Marshal(body["tools"])
	return err == nil && webTool.Match(data)
}

var webTool = lazy.NewRegexp(`"(type":"[^"]*web_search[^"]*"|google_?[sS]earch":)`)

// WithoutWeb returns the notice of a server that refused to search the web.
func WithoutWeb(model string) string {
	return model + " does not search the web here; sent again without"
}

// RefusesWeb reports whether a server's refusal is about the search of the web that body asks for.
func RefusesWeb(fault *llm.Error, body map[string]any) bool {
	return MayBlameField(fault) && webRefused.MatchString(fault.Param+" "+fault.Message) && HasWebTool(body)
}

var webRefused = lazy.NewRegexp(`(?i)web[_ ]?search|google[_ ]?search|search grounding|grounding is not|tool use with function calling|(hosted|server|built-?in)([- ]side)? tools?|includeServerSideToolInvocations`)

// WithoutDetail returns the notice that a model takes no Settings.Detail, if one is set and req
// shows images.
func WithoutDetail(model string, req llm.Request) []string {
	if req.Detail == "" || req.Detail == "auto" || !req.HasImages() {
		return nil
	}
	return []string{LeftOut(model, "the detail of images")}
}
