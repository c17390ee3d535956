package llm

import "testing"

// TestSettings: the accepted values of a setting, how they read back, and the errors for others.
func TestSettings(t *testing.T) {
	for _, test := range []struct{ name, text, got, err string }{
		{"temperature", "0.2", "0.2", ""},
		{"temperature", "0", "0", ""},
		{"temperature", "2.5", "", "temperature: 2.5 is not between 0 and 2"},
		{"temperature", "hot", "", "temperature: hot is not a number between 0 and 2"},
		{"temperature", "NaN", "", "temperature: NaN is not between 0 and 2"},
		{"top_p", "1", "1", ""},
		{"presence_penalty", "-2", "-2", ""},
		{"presence_penalty", "-3", "", "presence_penalty: -3 is not between -2 and 2"},
		{"max_tokens", "4096", "4096", ""},
		{"max_tokens", "-1", "", "max_tokens: -1 is negative"},
		{"max_tokens", "0", "", "max_tokens: 0 is not a whole number above 0"},
		{"max_tokens", "4k", "", "max_tokens: 4k is not a whole number above 0"},
		{"budget", "8192", "8192", ""},
		{"seed", "-7", "-7", ""},
		{"seed", "1.5", "", "seed: 1.5 is not a whole number"},
		{"stop", "END", "END", ""},
		{"stop", `["a","\n"]`, `["a","\n"]`, ""},
		{"stop", `"\n"`, `["\n"]`, ""},
		{"stop", `[1]`, "", `stop: [1] is not a list of texts such as ["A", "B"]`},
		{"stop", `["a",""]`, "", "stop: an empty text would end every answer"},
		{"verbosity", "low", "low", ""},
		{"verbosity", "lo", "", `verbosity: "lo" is not low, medium or high`},
		{"detail", "auto", "auto", ""},
		{"parallel_tools", "false", "false", ""},
		{"parallel_tools", "no", "", `parallel_tools: "no" is not true or false`},
		{"tool_choice", "required", "required", ""},
		{"user", "u 1", "u 1", ""},
	} {
		known, ok := FindSetting(test.name)
		if !ok {
			t.Fatalf("no setting %s", test.name)
		}
		var s Settings
		err := known.Set(&s, test.text)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != test.err || known.Get(s) != test.got {
			t.Errorf("%s %s: %q, %q, want %q, %q", test.name, test.text, known.Get(s), said, test.got, test.err)
		}
		var again Settings
		if err == nil && (known.Set(&again, known.Get(s)) != nil || known.Get(again) != test.got) {
			t.Errorf("%s %s reads back as %q", test.name, test.got, known.Get(again))
		}
		if known.Get(Settings{}) != "" {
			t.Errorf("%s is set in the zero Settings", test.name)
		}
	}
}

// TestParseOption: a value is JSON if it parses, otherwise text, and reads back unchanged.
func TestParseOption(t *testing.T) {
	for text, want := range map[string]string{
		"40": "40", "1.50": "1.50", "12345678901234567890": "12345678901234567890", "true": "true", "null": "null",
		`["x", 1]`: `["x",1]`, `{"b":1,"a":"<&>"}`: `{"a":"<&>","b":1}`, "price": "price", "1 2": "1 2", `"40"`: `"40"`, "{x": "{x",
	} {
		value := ParseOption(text)
		if got := OptionText(value); got != want || OptionText(ParseOption(got)) != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestCheckOption: fields that parley writes are rejected, with the alternative.
func TestCheckOption(t *testing.T) {
	for name, want := range map[string]string{
		"top_k": "", "provider.order": "", "generationConfig.topK": "", "text.verbosity": "", "toolsy": "",
		"model": "model: parley writes this field of a request itself; use /model or -m", "messages": "messages: parley writes this field of a request itself",
		"tools.0": "tools.0: parley writes this field of a request itself; use /tools or --tools", "input": "input: parley writes this field of a request itself",
		"contents": "contents: parley writes this field of a request itself", "stream": "stream: parley writes this field of a request itself; use stream in config.toml",
		"generationConfig.candidateCount": "generationConfig.candidateCount: parley writes this field of a request itself; use -n",
		"":                                `"" is not the name of a setting`, "a..b": `"a..b" is not the name of a setting`, "a b": `"a b" is not the name of a setting`, ".a": `".a" is not the name of a setting`,
	} {
		got := ""
		if err := CheckOption(name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, name := range CommonOptions {
		if err := CheckOption(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, known := FindSetting(name); known || SettingFor(name) != "" {
			t.Errorf("%s is a setting", name)
		}
	}
}
