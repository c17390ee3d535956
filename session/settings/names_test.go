package settings

import (
	"testing"

	"parley/providers/llm"
)

// TestParse: what -O takes.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"temperature=0.2": "temperature|0.2|", "temperature = 0.2": "temperature|0.2|", "temperature=": "temperature||", "temperature=off": "temperature||",
		"provider.order=[\"a=b\"]": `provider.order|["a=b"]|`, "top_k=40": "top_k|40|", "body.top_k=40": "top_k|40|", "body.stop=x": "body.stop|x|", "store=true": "store|true|",
		"top_k": "||top_k: give a value, as in top_k=VALUE", "effort=high": "||effort: use --effort", "stream=false": "||stream: parley writes this field of a request itself; use stream in config.toml",
		"=1": `||"" is not the name of a setting`, "sed=1": "||sed: unknown setting, did you mean seed? body.sed sends the field to the provider as typed",
	} {
		name, value, err := Parse(text)
		got := name + "|" + value + "|"
		if err != nil {
			got = "||" + err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, name := range llm.CommonOptions {
		if got, err := Name(name); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
