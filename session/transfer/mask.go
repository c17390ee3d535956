package transfer

import (
	"encoding/json"
	"maps"
	"slices"

	"parley/providers/llm"
)

// Mask returns c with mask applied to its texts, URLs and errors, the arguments and results of
// calls, and annotations. It counts the changed texts in c.MaskedTexts. State, which providers
// need byte for byte, and files stay unchanged.
func Mask(c Conversation, mask func(string) string) Conversation {
	clean := func(text *string) {
		if masked := mask(*text); masked != *text {
			*text = masked
			c.MaskedTexts++
		}
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		clean(&n.InterruptedBy)
		n.Parts = slices.Clone(n.Parts)
		for k := range n.Parts {
			p := &n.Parts[k]
			clean(&p.Text)
			clean(&p.Input)
			clean(&p.URL)
			if p.Kind != llm.Call && p.Kind != llm.Result { // for these it is the tool's name
				clean(&p.Name)
			}
		}
		n.Results = maps.Clone(n.Results)
		for _, id := range slices.Sorted(maps.Keys(n.Results)) {
			o := n.Results[id]
			clean(&o.Input)
			clean(&o.Diff)
			n.Results[id] = o
		}
	}
	c.Annotations = slices.Clone(c.Annotations)
	for i := range c.Annotations {
		a := &c.Annotations[i]
		var data any
		if json.Unmarshal(a.Data, &data) != nil {
			continue
		}
		was := c.MaskedTexts
		data = maskedJSON(data, clean)
		if text, err := json.Marshal(data); err == nil && c.MaskedTexts > was {
			a.Data = text
		}
	}
	clean(&c.Session.Title)
	clean(&c.Session.Preview)
	return c
}

// maskedJSON returns a decoded JSON value with clean applied to its strings.
func maskedJSON(value any, clean func(*string)) any {
	switch value := value.(type) {
	case string:
		clean(&value)
		return value
	case []any:
		for i := range value {
			value[i] = maskedJSON(value[i], clean)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			value[key] = maskedJSON(value[key], clean)
		}
	}
	return value
}
