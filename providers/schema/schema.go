// Package schema fits JSON Schemas to providers and values to schemas.
//
//	tool's schema ──For(target)──► provider
//	arguments ◄──Validate · Coerce ◄──Repair──  model
//
// The package uses one canonical form, a subset of JSON Schema 2020-12 without references, allOf,
// tuples and boolean schemas. A Target, a row of a table, lists the unsupported features of a
// provider; constraints that it loses go into the description for the model to read. All functions
// are pure: they never change their arguments, and hostile schemas and values cost bounded work.
package schema

import (
	"bytes"
	"encoding/json"
)

// For returns the schema raw in the subset that t supports. Constraints that t does not support
// move into descriptions. Properties keep their order, since models write them in that order. It
// never fails: anything that is not a schema becomes {"type":"object"}.
//
// For a target that requires an object at the root, other roots are wrapped in the property
// "value". Free-form objects that a target cannot express become strings that contain JSON, and
// unsupported property names are respelled. Coerce undoes all three.
func For(raw json.RawMessage, t Target) json.RawMessage {
	s := openDocumentOrObject(raw).canonical()
	var out []byte
	for range 1 + maxRounds { // the result of one rule can need another one
		rendered := t.render(s)
		text := encode(rendered)
		if bytes.Equal(text, out) {
			break
		}
		out, s = text, clean(rendered, 0)
	}
	return out
}

// maxRounds bounds how often a schema is rewritten until nothing changes. Hand-written schemas need
// one round.
const maxRounds = 5

// Validate checks value, a JSON text, against the schema raw. The error lists the failing paths and
// the values expected there. Malformed keywords are ignored, and format is an annotation. The error
// is ErrUnchecked if nothing failed but checking all of value would cost too much.
func Validate(raw json.RawMessage, value []byte) error {
	d := openDocumentOrObject(raw)
	v, err := decode(value)
	if err != nil {
		return err
	}
	return d.checker().validate(v)
}
