// Package fit fits answers and tool calls of models to JSON schemas, and checks the arguments of calls.
package fit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// A Repairer fits answers and tool calls of models to schemas.
type Repairer struct{}

// Repair is schema.RepairWhole.
func (Repairer) Repair(text []byte) ([]byte, bool) { return schema.RepairWhole(text) }

// Parse parses the JSON schema of an answer. The schema must describe an object and be well-formed
// as far as parley supports JSON Schema; the error names the path of a mistake.
func (Repairer) Parse(text []byte) (*llm.Schema, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err := schema.Validate(json.RawMessage(metaSchema), text); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return &llm.Schema{Name: "answer", JSON: text}, nil
}

// metaSchema describes a schema, with the parts of JSON Schema's own schema that catch frequent
// mistakes.
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

// Check returns the problems of a call's arguments. If the check is too costly, the tool checks them itself.
func (Repairer) Check(form, arguments json.RawMessage) error {
	if err := schema.Validate(form, arguments); !errors.Is(err, schema.ErrUnchecked) {
		return err
	}
	return nil
}

// Fit returns the JSON in answer that fits a schema, repaired and compact. The error tells the
// model the mistakes in its answer.
func (Repairer) Fit(form json.RawMessage, answer string) (json.RawMessage, error) {
	value, ok := schema.RepairWhole([]byte(strings.ToValidUTF8(answer, "\uFFFD")))
	if !ok {
		return nil, errors.New("it contains no complete JSON value")
	}
	err := schema.Validate(form, value)
	if err != nil {
		value = schema.Coerce(form, value)
		err = schema.Validate(form, value)
	}
	if err != nil {
		problem := err.Error()
		if len(problem) > maxProblem {
			problem = strings.ToValidUTF8(problem[:maxProblem], "") + " …"
		}
		return nil, errors.New(problem)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// maxProblem bounds the quoted part of an answer's mistakes, in bytes.
const maxProblem = 2 << 10

// RepairCalls replaces the names of calls with the tools that they mean, and their arguments with
// an object that uses the tool's own names. Rules, hooks and users see the call that runs, and the
// model gets it back.
func (Repairer) RepairCalls(parts []llm.Part, offered []llm.Tool) {
	names := make([]string, len(offered))
	for i, tool := range offered {
		names[i] = tool.Name
	}
	for i := range parts {
		p := &parts[i]
		if p.Kind != llm.Call || p.Remote {
			continue
		}
		p.Name = cmp.Or(schema.MatchTool(p.Name, names), schema.CutHarmony(p.Name), p.Name)
		args, ok := llm.Arguments(p.Input)
		if !ok || p.Failed {
			continue
		}
		fit := args
		if at := slices.Index(names, p.Name); at >= 0 {
			fit = schema.RenameArguments(offered[at].Schema, args)
		}
		if !bytes.Equal(fit, args) || strings.HasPrefix(strings.TrimSpace(p.Input), `"`) {
			p.Input = string(fit)
		}
	}
}
