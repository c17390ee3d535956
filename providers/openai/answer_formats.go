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
	"parley/tools/lazy"
)

// A Format is a way to send a server the schema of the answer.
type Format string

// The formats.
const (
	FormatSchema       Format = "response_format"    // type json_schema: OpenAI's own, which most servers support
	FormatObject       Format = "json_object"        // response_format of type json_object: any JSON; the prompt contains the schema
	FormatObjectSchema Format = "json_object_schema" // json_object with the schema in it: older versions of llama.cpp
	FormatStructured   Format = "structured_outputs" // vLLM from 0.11 on
	FormatGuided       Format = "guided_json"        // vLLM before 0.12
	FormatField        Format = "json_schema"        // the schema in a separate field: llama.cpp
	FormatPlain        Format = "format"             // the same under the name "format": Ollama
	FormatNone         Format = "none"               // no field; the prompt contains the schema

	// formatBoth sends both fields of vLLM: each version supports one and ignores the other.
	formatBoth Format = "guided decoding"
)

// A formatWriter writes the request field of a format.
type formatWriter struct {
	field          string // field of the request
	write          func(s json.RawMessage) any
	schemaInPrompt bool // the server guarantees JSON, but not the schema
}

var formatWriters = map[Format]formatWriter{
	FormatSchema: {field: "response_format"},
	FormatObject: {field: "response_format", schemaInPrompt: true, write: func(json.RawMessage) any {
		return map[string]any{"type": "json_object"}
	}},
	FormatObjectSchema: {field: "response_format", write: func(s json.RawMessage) any {
		return map[string]any{"type": "json_object", "schema": s}
	}},
	FormatStructured: {field: "structured_outputs", write: func(s json.RawMessage) any {
		return map[string]any{"json": s}
	}},
	FormatGuided: {field: "guided_json", write: bareSchema},
	formatBoth:   {field: "guided_json", write: bareSchema},
	FormatField:  {field: "json_schema", write: bareSchema},
	FormatPlain:  {field: "format", write: bareSchema},
}

// formatNames lists the formats that a configuration may name, except FormatNone.
func formatNames() []Format {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(formatWriters)), func(f Format) bool { return f == formatBoth })
}

func bareSchema(s json.RawMessage) any { return s }

// formats lists the schema formats that the service supports, the best first.
func (d Dialect) formats() []Format {
	if d.Formats == nil {
		return []Format{FormatSchema}
	}
	return d.Formats
}

// SupportsSchema reports whether the service constrains answers to a schema.
func (d Dialect) SupportsSchema() bool {
	f, ok := formatWriters[d.formats()[0]]
	return ok && !f.schemaInPrompt
}

// guidedFormats lists the guided decoding formats that the service supports.
func (d Dialect) guidedFormats() []Format {
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

// downgradeFormat begins the names of downgrades for refused formats.
const downgradeFormat = "answer: "

// format returns the best format that the server has not refused; FormatNone if none is left. Form
// selects guided decoding for the replies of guided tools, where the service has it.
func (d Dialect) format(learned map[string]string, form bool) Format {
	all := d.formats()
	if form {
		all = slices.Concat(d.guidedFormats(), all)
	}
	for _, f := range all {
		if _, refused := learned[downgradeFormat+string(f)]; !refused {
			return f
		}
	}
	return FormatNone
}

// addAnswerSchema requests an answer that fits the schema of req, and returns the system prompt.
// For servers that only guarantee JSON, the prompt describes the schema.
func (d Dialect) addAnswerSchema(body map[string]any, req llm.Request, learned map[string]string) string {
	if req.AnswerSchema == nil {
		return req.System
	}
	kind := d.format(learned, req.AnswerSchema.Guided)
	f, ok := formatWriters[kind]
	if !ok {
		return schemaPrompt(req)
	}
	wire.Merge(body, d.SchemaFields)
	switch kind {
	case formatBoth:
		s := schema.For(req.AnswerSchema.JSON, schema.Grammar)
		body["guided_json"], body["structured_outputs"] = s, map[string]any{"json": s}
	case FormatSchema:
		body[f.field] = map[string]any{"type": "json_schema", "json_schema": schemaFormat(req.AnswerSchema, d.Schema, d.StrictSchemas)}
	default:
		body[f.field] = f.write(schema.For(req.AnswerSchema.JSON, d.Schema))
	}
	if f.schemaInPrompt {
		return schemaPrompt(req)
	}
	return req.System
}

// formatRefused matches errors about a format that the server or its model does not support.
var formatRefused = lazy.NewRegexp(`(?i)response[ _]format|json[ _](schema|object)|structured[ _]outputs?|guided[ _](json|decoding)` +
	`|no endpoints found that can handle the requested parameters`)

// formatDowngrade reports whether the server refused the format of the answer's schema, and the
// downgrade for it. Old versions of llama.cpp refuse it with status 500.
func (c *Chat) formatDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool) {
	learned := c.o.Learned.All()
	kind, form := c.dialect.format(learned, true), true
	_, structured := body["structured_outputs"]
	if _, sent := body[formatWriters[kind].field]; !sent || kind == formatBoth && !structured {
		kind, form = c.dialect.format(learned, false), false
	}
	f := formatWriters[kind]
	_, sent := body[f.field]
	_, own := c.o.Body[f.field]
	switch {
	case !sent, own, fault.Fault == llm.ContextOverflow,
		!slices.Contains([]int{0, 400, 404, 422, 500, 501}, fault.Status),
		fault.Param != f.field && !strings.HasPrefix(fault.Param, f.field+".") && !formatRefused.MatchString(fault.Param+" "+fault.Message):
		return downgrade{}, false
	}
	r := downgrade{field: downgradeFormat + string(kind), notice: fmt.Sprintf("does not take %s; sent again ", kind)}
	learned[r.field] = ""
	if next := c.dialect.format(learned, form); next == FormatNone {
		r.notice += "without it"
	} else {
		r.notice += "with " + string(next)
	}
	return r, true
}
