package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Settings influence an answer. If a model refuses a setting, the request is sent without it and
// the user gets a Notice. The tags are keys of a table in config.toml.
type Settings struct {
	MaxTokens        int            `toml:"max_tokens"` // output limit, including thinking
	Budget           int            `toml:"budget"`     // thinking limit in tokens; 0 leaves it to Effort
	Temperature      *float64       `toml:"temperature"`
	TopP             *float64       `toml:"top_p"`
	FrequencyPenalty *float64       `toml:"frequency_penalty"`
	PresencePenalty  *float64       `toml:"presence_penalty"`
	Seed             *int64         `toml:"seed"`
	Stop             []string       `toml:"stop"`
	User             string         `toml:"user"`           // the end user, for the provider's abuse checks
	ToolChoice       string         `toml:"tool_choice"`    // "auto", "none", "required", or the name of a tool
	Parallel         *bool          `toml:"parallel_tools"` // allow several tool calls in one answer
	Verbosity        string         `toml:"verbosity"`      // "low", "medium" or "high"
	Detail           string         `toml:"detail"`         // detail of images: "low", "high" or "auto"
	Web              bool           `toml:"-"`              // the provider may search the web for the answer
	Options          map[string]any `toml:"-"`              // further fields of the request body, see ParseOption; a dot in a name descends into an object; refused fields are dropped
}

// Values of Settings.Verbosity and Settings.Detail.
var (
	Verbosities = []string{"low", "medium", "high"}
	Details     = []string{"low", "high", "auto"}
)

// A Setting is a field of Settings that users change by name, in commands and in the configuration.
type Setting struct {
	Name  string
	Takes string   // description of the valid values, such as "between 0 and 2"
	Words []string // the valid values if they are few; nil if only Takes describes them

	// Set parses text into s. The error begins with the name and says which values are allowed.
	Set func(s *Settings, text string) error
	// Get returns the value in the form that Set parses; "" if it is not set.
	Get func(s Settings) string
}

// Adjustable lists the settings that users change by name.
var Adjustable = []Setting{
	numberSetting("temperature", 0, 2, func(s *Settings) **float64 { return &s.Temperature }),
	numberSetting("top_p", 0, 1, func(s *Settings) **float64 { return &s.TopP }),
	countSetting("max_tokens", "tokens of an answer, thinking included", func(s *Settings) *int { return &s.MaxTokens }),
	numberSetting("frequency_penalty", -2, 2, func(s *Settings) **float64 { return &s.FrequencyPenalty }),
	numberSetting("presence_penalty", -2, 2, func(s *Settings) **float64 { return &s.PresencePenalty }),
	seedSetting,
	stopSetting,
	wordSetting("verbosity", Verbosities, func(s *Settings) *string { return &s.Verbosity }),
	wordSetting("detail", Details, func(s *Settings) *string { return &s.Detail }),
	countSetting("budget", "tokens of thinking, instead of an effort", func(s *Settings) *int { return &s.Budget }),
	textSetting("tool_choice", "auto, none, required, or the name of a tool", func(s *Settings) *string { return &s.ToolChoice }),
	parallelSetting,
	textSetting("user", "a name for the end user, for the provider's abuse checks", func(s *Settings) *string { return &s.User }),
}

// FindSetting returns the setting of this name.
func FindSetting(name string) (s Setting, ok bool) {
	i := slices.IndexFunc(Adjustable, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return Adjustable[i], true
}

// Validate returns an error for each invalid number or stop sequence; each error begins with the
// setting's name.
func (s Settings) Validate() (errs []error) {
	for _, known := range Adjustable {
		value := known.Get(s)
		if value == "" || known.Words != nil {
			continue
		}
		if err := known.Set(new(Settings), value); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// invalidValueError returns the error for a value that a setting does not accept.
func invalidValueError(name, value, takes string) error {
	return fmt.Errorf("%s: %s is not %s", name, value, takes)
}

// numberSetting returns a setting for a number from low to high.
func numberSetting(name string, low, high float64, field func(*Settings) **float64) Setting {
	takes := fmt.Sprintf("between %v and %v", low, high)
	return Setting{
		Name: name, Takes: takes,
		Set: func(s *Settings, text string) error {
			n, err := strconv.ParseFloat(text, 64)
			switch {
			case errors.Is(err, strconv.ErrSyntax):
				return invalidValueError(name, text, "a number "+takes)
			case err != nil || !(n >= low && n <= high):
				return invalidValueError(name, text, takes)
			}
			*field(s) = &n
			return nil
		},
		Get: func(s Settings) string {
			if v := *field(&s); v != nil {
				return strconv.FormatFloat(*v, 'g', -1, 64)
			}
			return ""
		},
	}
}

// countSetting returns a setting for a number above 0.
func countSetting(name, what string, field func(*Settings) *int) Setting {
	return Setting{
		Name: name, Takes: "a number of " + what,
		Set: func(s *Settings, text string) error {
			n, err := strconv.Atoi(text)
			switch {
			case n < 0:
				return fmt.Errorf("%s: %d is negative", name, n)
			case err != nil || n == 0:
				return invalidValueError(name, text, "a whole number above 0")
			}
			*field(s) = n
			return nil
		},
		Get: func(s Settings) string {
			if n := *field(&s); n != 0 {
				return strconv.Itoa(n)
			}
			return ""
		},
	}
}

// wordSetting returns a setting for one word of list.
func wordSetting(name string, list []string, field func(*Settings) *string) Setting {
	takes := strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
	s := textSetting(name, takes, field)
	s.Words = list
	s.Set = func(s *Settings, text string) error {
		if !slices.Contains(list, text) {
			return invalidValueError(name, strconv.Quote(text), takes)
		}
		*field(s) = text
		return nil
	}
	return s
}

// textSetting returns a setting for any text.
func textSetting(name, takes string, field func(*Settings) *string) Setting {
	return Setting{
		Name: name, Takes: takes,
		Set: func(s *Settings, text string) error { *field(s) = text; return nil },
		Get: func(s Settings) string { return *field(&s) },
	}
}

var seedSetting = Setting{
	Name: "seed", Takes: "a whole number",
	Set: func(s *Settings, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return invalidValueError("seed", text, "a whole number")
		}
		s.Seed = &n
		return nil
	},
	Get: func(s Settings) string {
		if s.Seed == nil {
			return ""
		}
		return strconv.FormatInt(*s.Seed, 10)
	},
}

var stopSetting = Setting{
	Name: "stop", Takes: `a text that ends the answer, or several as ["A", "B"]`,
	Set: func(s *Settings, text string) error {
		list := []string{text}
		if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) != nil {
			return invalidValueError("stop", text, `a list of texts such as ["A", "B"]`)
		}
		if one := ""; strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &one) == nil {
			list = []string{one}
		}
		if slices.Contains(list, "") {
			return errors.New("stop: an empty text would end every answer")
		}
		s.Stop = list
		return nil
	},
	Get: func(s Settings) string {
		switch {
		case s.Stop == nil:
			return ""
		case len(s.Stop) == 1 && s.Stop[0] != "" && !strings.ContainsAny(s.Stop[0], "[\"\n\r\t"):
			return s.Stop[0]
		}
		return OptionText(s.Stop)
	},
}

var parallelSetting = Setting{
	Name: "parallel_tools", Takes: "true or false", Words: []string{"true", "false"},
	Set: func(s *Settings, text string) error {
		if text != "true" && text != "false" {
			return invalidValueError("parallel_tools", strconv.Quote(text), "true or false")
		}
		yes := text == "true"
		s.Parallel = &yes
		return nil
	},
	Get: func(s Settings) string {
		if s.Parallel == nil {
			return ""
		}
		return strconv.FormatBool(*s.Parallel)
	},
}

// ParseOption parses a value of Settings.Options: JSON if valid, otherwise text. Numbers keep their
// spelling.
func ParseOption(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return text
	}
	if _, err := d.Token(); err != io.EOF { // text follows
		return text
	}
	return value
}

// OptionText returns a value of Settings.Options as users write it: text unquoted unless it would
// parse as JSON, anything else as JSON.
func OptionText(value any) string {
	if s, ok := value.(string); ok && ParseOption(s) == any(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(b.String())
}

// reservedFields maps the request fields that parley writes itself to the command that changes
// them; "" for none.
var reservedFields = map[string]string{
	"model": "/model or -m", "messages": "", "input": "", "contents": "", "prompt": "",
	"system": "/system or -s", "instructions": "/system or -s", "systemInstruction": "/system or -s", "system_instruction": "/system or -s",
	"tools": "/tools or --tools", "functions": "/tools or --tools", "stream": "stream in config.toml",
	"n": "-n", "candidateCount": "-n", "generationConfig.candidateCount": "-n", "generation_config": "generationConfig",
	"previous_response_id": "", "conversation": "", "background": "", "continuationToken": "", "anthropic_version": "",
}

// CheckOption returns why Settings.Options cannot contain a field called name; nil if it can.
func CheckOption(name string) error {
	if name == "" || slices.Contains(strings.Split(name, "."), "") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '=' }) {
		return fmt.Errorf("%q is not the name of a setting", name)
	}
	for field, other := range reservedFields {
		if name != field && !strings.HasPrefix(name, field+".") {
			continue
		}
		if other == "" {
			return fmt.Errorf("%s: parley writes this field of a request itself", name)
		}
		return fmt.Errorf("%s: parley writes this field of a request itself; use %s", name, other)
	}
	return nil
}

// CommonOptions lists request fields of services that are not in Adjustable and are not misspelled
// settings.
var CommonOptions = []string{
	"top_k", "top_a", "min_p", "typical_p", "tfs_z", "mirostat", "mirostat_tau", "mirostat_eta", "min_tokens",
	"repetition_penalty", "repeat_penalty", "length_penalty", "no_repeat_ngram_size", "logit_bias", "logprobs", "top_logprobs",
	"store", "metadata", "service_tier", "provider", "transforms", "plugins", "route", "reasoning", "thinking", "cache_control",
	"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "response_format", "prediction", "modalities", "include",
	"truncation", "text", "stream_options", "extra_body", "chat_template_kwargs", "num_ctx", "num_predict", "keep_alive", "think", "format",
	"generationConfig", "safetySettings", "labels", "search_parameters", "context_management", "speed",
}

// settingAliases maps other services' names to parley's names of settings.
var settingAliases = map[string]string{
	"max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens", "max_new_tokens": "max_tokens",
	"topP": "top_p", "stop_sequences": "stop", "stopSequences": "stop", "frequencyPenalty": "frequency_penalty", "presencePenalty": "presence_penalty",
	"thinking_budget": "budget", "parallel_tool_calls": "parallel_tools",
}

// SettingFor returns the setting that some services call name; "" for none.
func SettingFor(name string) string { return settingAliases[name] }

// RawFieldPrefix precedes the name of a field of Settings.Options that goes into the request body
// under exactly that name, even if it resembles a setting.
const RawFieldPrefix = "body."

// OptionField returns the request field for a name typed by the user.
func OptionField(name string) string { return strings.TrimPrefix(name, RawFieldPrefix) }
