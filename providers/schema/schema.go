// Package schema fits JSON Schemas to providers and values to schemas. It
// imports nothing of parley.
//
//	tool's schema ──For(target)──► provider
//	arguments ◄──Validate · Coerce ◄──Repair──  model
//
// Inside there is one canonical form, a subset of JSON Schema 2020-12 without
// references, allOf, tuples and boolean schemas. What a provider does not
// understand is a row of a table, a Target; what is lost on the way is told to
// the model in the description. Everything is a pure function: what comes in is
// never changed, and hostile schemas and values cost bounded work.
package schema

import (
	"bytes"
	"encoding/json"
)

// For returns a copy of raw as t takes it. Constraints that t does not know
// are told in descriptions. Properties keep their order, since models write
// them in it. It never fails: what is no schema becomes {"type":"object"}.
//
// A target that wants an object at the root gets other values wrapped into the
// property "value"; free-form objects that a target cannot express become
// strings that hold JSON, and property names that it refuses are respelled.
// Coerce takes all three back.
func For(raw json.RawMessage, t Target) json.RawMessage {
	out := t.render(openDocumentOrObject(raw).canonical())
	for range maxRounds { // what one rule leaves can be another one's to rewrite
		again := t.render(openDocumentOrObject(out).canonical())
		if bytes.Equal(again, out) {
			break
		}
		out = again
	}
	return out
}

// maxRounds bounds the rewriting of a schema until nothing changes. One round is
// enough for what people write.
const maxRounds = 5

// Validate checks value, a JSON text, against raw. The error names each
// failing path and what was expected there. Keywords that are malformed say
// nothing; format is an annotation. It is ErrUnchecked if nothing failed and checking the
// rest would cost too much.
func Validate(raw json.RawMessage, value []byte) error {
	d := openDocumentOrObject(raw)
	v, err := decode(value)
	if err != nil {
		return err
	}
	return d.checker().validate(v)
}
