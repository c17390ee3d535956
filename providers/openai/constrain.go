package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
	"parley/providers/wire"
)

// A Format is a way to tell a server the schema that an answer has to fit.
type Format string

// The formats.
const (
	FormatSchema       Format = "response_format"    // of type json_schema: OpenAI's own, which most servers know
	FormatObject       Format = "json_object"        // response_format of type json_object: any JSON; the schema goes along in words
	FormatObjectSchema Format = "json_object_schema" // the same with the schema in it: older versions of llama.cpp
	FormatStructured   Format = "structured_outputs" // vLLM from 0.11 on
	FormatGuided       Format = "guided_json"        // vLLM before 0.12
	FormatField        Format = "json_schema"        // the schema as a field of its own: llama.cpp
	FormatPlain        Format = "format"             // the same under Ollama's name
	FormatNone         Format = "none"               // not at all; the schema goes along in words

	// formatBoth is both fields of vLLM: each version knows one of them, and
	// ignores the other.
	formatBoth Format = "guided decoding"
)

// A form is how a format is written.
type form struct {
	field string // of the request
	write func(s json.RawMessage) any
	words bool // it promises JSON alone
}

var forms = map[Format]form{
	FormatSchema: {field: "response_format"},
	FormatObject: {field: "response_format", words: true, write: func(json.RawMessage) any {
		return map[string]any{"type": "json_object"}
	}},
	FormatObjectSchema: {field: "response_format", write: func(s json.RawMessage) any {
		return map[string]any{"type": "json_object", "schema": s}
	}},
	FormatStructured: {field: "structured_outputs", write: func(s json.RawMessage) any {
		return map[string]any{"json": s}
	}},
	FormatGuided: {field: "guided_json", write: alone},
	formatBoth:   {field: "guided_json", write: alone},
	FormatField:  {field: "json_schema", write: alone},
	FormatPlain:  {field: "format", write: alone},
}

// formatNames lists the formats that a configuration may name, but for none.
func formatNames() []Format {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(forms)), func(f Format) bool { return f == formatBoth })
}

func alone(s json.RawMessage) any { return s }

// formats lists how the service can be told a schema, the best first.
func (d Dialect) formats() []Format {
	if d.Formats == nil {
		return []Format{FormatSchema}
	}
	return d.Formats
}

// Constrains reports whether the service holds answers to a schema.
func (d Dialect) Constrains() bool {
	f, ok := forms[d.formats()[0]]
	return ok && !f.words
}

// Guides reports whether the service holds replies to a schema by guided
// decoding, whatever the model.
func (d Dialect) Guides() bool { return d.guides() != nil }

// guides lists the formats of guided decoding that the service has.
func (d Dialect) guides() []Format {
	structured, guided := slices.Contains(d.formats(), FormatStructured), slices.Contains(d.formats(), FormatGuided)
	switch {
	case structured && guided:
		return []Format{formatBoth}
	case structured:
		return []Format{FormatStructured}
	case guided:
		return []Format{FormatGuided}
	}
	return nil
}

// cureFormat begins the cures for formats that a server does not take.
const cureFormat = "answer: "

// format is the best of those that the server has not refused, FormatNone if
// there is none left. The form of replies goes by guided decoding where the
// service has that.
func (d Dialect) format(cures map[string]string, form bool) Format {
	all := d.formats()
	if form {
		all = slices.Concat(d.guides(), all)
	}
	for _, f := range all {
		if _, refused := cures[cureFormat+string(f)]; !refused {
			return f
		}
	}
	return FormatNone
}

// answer asks for an answer that fits a schema, and returns the system prompt.
// Servers that promise no more than JSON are told the schema in words.
func (d Dialect) answer(body map[string]any, req llm.Request, cures map[string]string) string {
	if req.AnswerSchema == nil {
		return req.System
	}
	kind := d.format(cures, req.AnswerSchema.Guided)
	f, ok := forms[kind]
	if !ok {
		return inWords(req)
	}
	wire.Merge(body, d.Answered)
	switch kind {
	case formatBoth:
		s := schema.For(req.AnswerSchema.JSON, schema.Grammar)
		body["guided_json"], body["structured_outputs"] = s, map[string]any{"json": s}
	case FormatSchema:
		body[f.field] = map[string]any{"type": "json_schema", "json_schema": answerFormat(req.AnswerSchema, d.target(), d.Strict)}
	default:
		body[f.field] = f.write(schema.For(req.AnswerSchema.JSON, d.target()))
	}
	if f.words {
		return inWords(req)
	}
	return req.System
}

// misfit finds what servers say of a format that they, or their model, do not
// take.
var misfit = pattern(`(?i)response[ _]format|json[ _](schema|object)|structured[ _]outputs?|guided[ _](json|decoding)` +
	`|no endpoints found that can handle the requested parameters`)

// unformed looks whether the server refused the way in which it was told the
// schema of the answer. Old versions of llama.cpp do so with status 500.
func (c *Chat) unformed(fault *llm.Error, body map[string]any) (remedy, bool) {
	cures := c.learned.All()
	kind, form := c.o.Dialect.format(cures, true), true
	_, structured := body["structured_outputs"]
	if _, sent := body[forms[kind].field]; !sent || kind == formatBoth && !structured {
		kind, form = c.o.Dialect.format(cures, false), false
	}
	f := forms[kind]
	_, sent := body[f.field]
	_, own := c.o.Body[f.field]
	switch {
	case !sent, own, fault.Fault == llm.ContextOverflow,
		!slices.Contains([]int{0, 400, 404, 422, 500, 501}, fault.Status),
		fault.Param != f.field && !strings.HasPrefix(fault.Param, f.field+".") && !misfit().MatchString(fault.Param+" "+fault.Message):
		return remedy{}, false
	}
	r := remedy{field: cureFormat + string(kind), notice: fmt.Sprintf("does not take %s; sent again ", kind)}
	cures[r.field] = ""
	if next := c.o.Dialect.format(cures, form); next == FormatNone {
		r.notice += "without it"
	} else {
		r.notice += "with " + string(next)
	}
	return r, true
}
