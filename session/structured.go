package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// ErrSchema ends a turn whose answer does not fit Options.Answer, although the
// model was told what is wrong with it.
var ErrSchema = errors.New("the answer does not fit the schema")

// StructuredOutput reports that the answer before it fits Options.Answer.
type StructuredOutput struct {
	JSON json.RawMessage // compact; what was slightly broken is repaired
}

// maxCorrections sets how often a model is told what is wrong with its answer.
const maxCorrections = 2

// maxProblemLen bounds what is quoted of an answer's faults, in bytes.
const maxProblemLen = 2 << 10

// ParseAnswerSchema returns the schema that text holds, for Options.Answer. It has to be an
// object that is well formed by JSON Schema, as far as parley knows that; the
// error names the path of what is not.
func ParseAnswerSchema(text []byte) (*llm.Schema, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err := schema.Validate(json.RawMessage(metaSchema), text); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return &llm.Schema{Name: "answer", JSON: text}, nil
}

// metaSchema holds what a schema has to look like: the parts of JSON Schema's own
// schema that catch what people get wrong.
const metaSchema = `{
	"type": "object",
	"$ref": "#/$defs/schema",
	"$defs": {
		"schema": {
			"type": ["object", "boolean"],
			"properties": {
				"type": {"anyOf": [{"$ref": "#/$defs/type"}, {"type": "array", "items": {"$ref": "#/$defs/type"}, "minItems": 1}]},
				"$ref": {"type": "string"},
				"enum": {"type": "array"},
				"required": {"$ref": "#/$defs/names"},
				"properties": {"$ref": "#/$defs/schemas"},
				"patternProperties": {"$ref": "#/$defs/schemas"},
				"dependentSchemas": {"$ref": "#/$defs/schemas"},
				"$defs": {"$ref": "#/$defs/schemas"},
				"definitions": {"$ref": "#/$defs/schemas"},
				"allOf": {"$ref": "#/$defs/list"},
				"anyOf": {"$ref": "#/$defs/list"},
				"oneOf": {"$ref": "#/$defs/list"},
				"prefixItems": {"$ref": "#/$defs/list"},
				"items": {"anyOf": [{"$ref": "#/$defs/schema"}, {"$ref": "#/$defs/list"}]},
				"additionalProperties": {"$ref": "#/$defs/schema"},
				"propertyNames": {"$ref": "#/$defs/schema"},
				"contains": {"$ref": "#/$defs/schema"},
				"not": {"$ref": "#/$defs/schema"},
				"if": {"$ref": "#/$defs/schema"},
				"then": {"$ref": "#/$defs/schema"},
				"else": {"$ref": "#/$defs/schema"},
				"minimum": {"type": "number"},
				"maximum": {"type": "number"},
				"minLength": {"$ref": "#/$defs/count"},
				"maxLength": {"$ref": "#/$defs/count"},
				"minItems": {"$ref": "#/$defs/count"},
				"maxItems": {"$ref": "#/$defs/count"},
				"minProperties": {"$ref": "#/$defs/count"},
				"maxProperties": {"$ref": "#/$defs/count"},
				"pattern": {"type": "string"},
				"format": {"type": "string"}
			}
		},
		"type": {"enum": ["string", "number", "integer", "boolean", "object", "array", "null"]},
		"count": {"type": "integer", "minimum": 0},
		"names": {"type": "array", "items": {"type": "string"}},
		"list": {"type": "array", "items": {"$ref": "#/$defs/schema"}},
		"schemas": {"type": "object", "additionalProperties": {"$ref": "#/$defs/schema"}}
	}
}`

// checkSchema holds a complete answer to the schema it was asked for, and reports
// whether the model has to answer once more. An answer that was cut or refused
// is what it is: asking again would not change that.
func (t *turn) checkSchema(answer llm.Message, reason llm.Reason) (again bool, err error) {
	want := get(t.Session, &t.answerSchema)
	if want == nil || reason == llm.Length || reason == llm.Refused {
		return false, nil
	}
	value, err := repairToSchema(want.JSON, answer.Text())
	if err == nil {
		t.corrected = 0
		t.emit(StructuredOutput{JSON: value})
		return false, nil
	}
	if t.corrected == maxCorrections || t.done.Steps >= t.maxSteps {
		return false, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	t.corrected++
	t.emit(llm.Notice{Text: fmt.Sprintf("the answer does not fit the schema: %v; asking again (%d of %d)", err, t.corrected, maxCorrections)})
	if len(answer.Parts) > 0 { // of what was not said, nothing is wrong
		t.prompt(llm.UserText(correctionPrompt(want, err)))
	}
	return true, nil
}

// repairToSchema takes out of text the JSON that fits a schema.
func repairToSchema(want json.RawMessage, text string) (json.RawMessage, error) {
	value, ok := schema.RepairWhole([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	if !ok {
		return nil, errors.New("it contains no complete JSON value")
	}
	err := schema.Validate(want, value)
	if err != nil {
		value = schema.Coerce(want, value)
		err = schema.Validate(want, value)
	}
	if err != nil {
		return nil, errors.New(truncateProblem(err.Error()))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// correctionPrompt returns the model what is wrong with its answer. It repeats the
// schema: servers that know no structured answers may have dropped it silently.
func correctionPrompt(want *llm.Schema, problem error) string {
	return fmt.Sprintf("Your answer does not fit the JSON Schema that it has to fit: %v.\n\n"+
		"Answer again with the whole JSON value and nothing else, without explanations and without a code fence. The schema is:\n\n%s",
		problem, want.JSON)
}

// truncateProblem shortens text that quotes an answer.
func truncateProblem(text string) string {
	if len(text) <= maxProblemLen {
		return text
	}
	return strings.ToValidUTF8(text[:maxProblemLen], "") + " …"
}
