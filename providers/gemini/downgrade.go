package gemini

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/tools/lazy"
)

// Names of downgrades that are not fields of generationConfig.
const (
	downgradeSchema       = "an answer schema"
	downgradeSystem       = "a system prompt"
	downgradeStandIn      = "the stand-in for thought signatures"
	downgradeStandIn64    = "the stand-in for thought signatures in base64"
	downgradeSignatures   = "these thought signatures"
	downgradeIDs          = "ids of calls"
	downgradeResultImages = "images in results"
	downgradeWeb          = "a search of the web"
)

// A downgrade matches a server's refusal of an optional part of a request.
type downgrade struct {
	name    string // a field of generationConfig, or one of the names above
	pattern *regexp.Regexp
	part    string // text that the body must contain, if the downgrade is not a field
}

// downgrades is in the order in which they are tried: a field precedes those that contain it.
var downgrades = sync.OnceValue(func() []downgrade {
	return []downgrade{
		{"thinkingConfig.thinkingLevel", regexp.MustCompile(`(?i)thinking[_ ]?level`), ""},
		{"thinkingConfig.thinkingBudget", regexp.MustCompile(`(?i)thinking[_ ]?budget|budget -?[0-9]+ is invalid`), ""},
		{"thinkingConfig.includeThoughts", regexp.MustCompile(`(?i)include[_ ]?thoughts`), ""},
		{"thinkingConfig", regexp.MustCompile(`(?i)thinking[_ ]?config|thinking (mode )?is not|not support thinking`), ""},
		{"temperature", regexp.MustCompile(`(?i)\btemperature\b`), ""},
		{"topP", regexp.MustCompile(`(?i)\btop_?p\b`), ""},
		{"seed", regexp.MustCompile(`(?i)\bseed\b`), ""},
		{"stopSequences", regexp.MustCompile(`(?i)\bstop_?sequences?\b`), ""},
		{"frequencyPenalty", regexp.MustCompile(`(?i)penalty`), ""},
		{"presencePenalty", regexp.MustCompile(`(?i)penalty`), ""},
		{"mediaResolution", regexp.MustCompile(`(?i)media[_ ]?resolution`), ""},
		{"maxOutputTokens", regexp.MustCompile(`(?i)\bmax_?output_?tokens\b`), ""},
		{downgradeSchema, regexp.MustCompile(`(?i)response_?(mime_?type|json_?schema|schema)|response mime type|json mode`), "responseMimeType"},
		{downgradeSystem, regexp.MustCompile(`(?i)(developer|system)[_ ]?instruction`), "systemInstruction"},
		{downgradeStandIn, regexp.MustCompile(`(?i)thought[_ ]?signature|base64 decod|` + skipValidator), `"thoughtSignature":` + string(skipSignature)},
		{downgradeStandIn64, regexp.MustCompile(`(?i)thought[_ ]?signature`), `"thoughtSignature":` + string(skipSignature64)},
		{downgradeSignatures, regexp.MustCompile(`(?i)thought[_ ]?signature`), "thoughtSignature"},
		{downgradeResultImages, regexp.MustCompile(`(?i)"parts" at '[^']*function_response|multimodal function response`), "functionResponse"},
		{downgradeIDs, regexp.MustCompile(`(?i)"id" at '[^']*function_`), `"id"`},
	}
})

// downgrade checks whether fault is about something that the request can do without. It stores the
// downgrade and returns a notice for the user.
func (m *Model) downgrade(fault *llm.Error, body map[string]any) (notice string, ok bool) {
	if fault.Status != http.StatusBadRequest || !adapter.MayBlameField(fault) {
		return "", false
	}
	if adapter.RefusesWeb(fault, body) && m.o.Learned.Learn(downgradeWeb, "", true) {
		return adapter.WithoutWeb(m.o.Model), true
	}
	encoded, err := encode(body)
	if err != nil {
		return "", false
	}
	data := encoded.Bytes()
	for _, c := range downgrades() {
		if !c.pattern.MatchString(fault.Message) || !c.isSent(body, data) {
			continue
		}
		if !m.o.Learned.Learn(c.name, "", c.name != downgradeSignatures) {
			continue // it was known and did not help
		}
		switch c.name {
		case downgradeStandIn:
			return fmt.Sprintf("%s does not take %s; sent again with its base64 form", m.o.Model, c.name), true
		case downgradeStandIn64:
			return fmt.Sprintf("%s does not take %s; sent again with the calls as text", m.o.Model, c.name), true
		}
		return adapter.SentWithout(m.o.Model, c.name), true
	}
	return "", false
}

// isSent reports whether a body contains the part that c is about.
func (c downgrade) isSent(body map[string]any, data []byte) bool {
	if c.part != "" {
		return bytes.Contains(data, []byte(c.part))
	}
	_, sent := adapter.Field(body, "generationConfig."+c.name)
	return sent
}

// applyDowngrades removes refused fields from config, and returns the removed settings of the user.
func applyDowngrades(config map[string]any, learned map[string]string) (omitted []string) {
	for _, c := range downgrades() {
		if _, refused := learned[c.name]; refused && adapter.DropField(config, c.name) && !strings.HasPrefix(c.name, "thinkingConfig") {
			omitted = append(omitted, c.name)
		}
	}
	return omitted
}

var noTools = lazy.NewRegexp(`(?i)(function calling|tool use|tools?) (is|are) not (enabled|supported)|does not support (function calling|tools?)`)

// markNoTools sets the fault of an error that says the model has no tools.
func markNoTools(fault *llm.Error, body map[string]any) {
	if _, sent := body["tools"]; sent && fault.Status == http.StatusBadRequest && noTools.MatchString(fault.Message) {
		fault.Fault, fault.Param = llm.Unsupported, "tools"
	}
}
