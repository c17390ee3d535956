package anthropic

import (
	"encoding/json"
	"maps"
)

// emptySchema is that of a tool without arguments.
var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// inputSchema is a schema of arguments as Messages takes it: an object whose
// root says so, and chooses among nothing. The properties of what it chose among
// become its own. Other schemas stay as they are, byte for byte.
func inputSchema(schema json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root == nil {
		return emptySchema
	}
	changed := root["type"] != "object"
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		choices, ok := root[word].([]any)
		if !ok {
			continue
		}
		changed = true
		delete(root, word)
		for _, c := range choices {
			merge(root, c, word == "allOf")
		}
	}
	if !changed {
		return schema
	}
	root["type"] = "object"
	data, err := json.Marshal(root)
	if err != nil {
		return emptySchema
	}
	return data
}

// merge adds the properties of choice to root, and what it requires if it always
// holds.
func merge(root map[string]any, choice any, always bool) {
	c, _ := choice.(map[string]any)
	if more, ok := c["properties"].(map[string]any); ok {
		ours, _ := root["properties"].(map[string]any)
		if ours == nil {
			ours = map[string]any{}
		}
		more = maps.Clone(more)
		maps.Copy(more, ours)
		root["properties"] = more
	}
	if more, ok := c["required"].([]any); ok && always {
		ours, _ := root["required"].([]any)
		root["required"] = append(ours, more...)
	}
}
