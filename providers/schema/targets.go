package schema

import "strings"

// A Target is the subset of JSON Schema that one kind of request supports. The zero Target supports
// the whole canonical form, with a root of any type.
type Target struct {
	Name             string
	ObjectRoot       bool    // the root must be an object, without anyOf, oneOf, enum, const or not
	Unsupported      string  // space-separated keywords; any list must include logicKeywords: dropping one inside "not" would forbid more
	Formats          string  // supported values of format, space-separated; "" for all
	MaxBound         float64 // largest maxLength, maxItems, minLength or minItems; 0 for no limit
	NoLookAround     bool    // patterns must not have look-around or back references
	AnchoredPatterns bool    // patterns must be anchored at both ends
	ClosedObjects    bool    // objects must have additionalProperties:false
	OpenObjects      bool    // objects must not have additionalProperties:false
	AllRequired      bool    // every property must be required; optional ones become nullable
	TypeRequired     bool    // every schema must have a type, or anyOf of such
	NotBesideAnyOf   bool    // type, properties, required and items must not appear beside anyOf
	PortableKeys     bool    // property names must be ^[a-zA-Z0-9_.-]{1,64}$
}

// Keywords that most subsets of JSON Schema leave out.
const (
	logicKeywords    = "not if then else dependentRequired dependentSchemas patternProperties propertyNames "
	containsKeywords = "contains minContains maxContains "
	lengthKeywords   = "minLength maxLength minItems maxItems minProperties maxProperties uniqueItems "
	numberKeywords   = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
)

// commonFormats are the formats that structured outputs of both OpenAI and Anthropic support.
const commonFormats = "date-time time date duration email hostname ipv4 ipv6 uuid"

// OfModel returns the schema target for a model at a service with the target usual; a zero usual is
// OpenAI. Gateways pass schemas on unchanged, so the rules of the model's family apply wherever it
// is served. A service with its own target runs open models itself: its rules apply to all models
// but Gemini, which it only forwards.
func OfModel(model string, usual Target) Target {
	model = strings.ToLower(model)
	switch {
	case strings.Contains(model, "gemini"):
		return Gemini
	case usual.Name != "":
		return usual
	case strings.Contains(model, "kimi"), strings.Contains(model, "moonshot"):
		return Kimi
	case strings.Contains(model, "grok"):
		return XAI
	}
	return OpenAI
}

// Targets. Qwen, GLM, DeepSeek, MiniMax, Mistral and Groq use OpenAI.
var (
	// OpenAI is for functions without strict: any schema with an object at the root.
	OpenAI = Target{Name: "openai", ObjectRoot: true}

	// OpenAIStrict is for functions with strict:true and for response_format json_schema, see
	// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
	OpenAIStrict = Target{Name: "openai-strict", ObjectRoot: true, ClosedObjects: true, AllRequired: true, TypeRequired: true, NoLookAround: true,
		Unsupported: "oneOf default examples minLength maxLength minProperties maxProperties uniqueItems " + logicKeywords + containsKeywords,
		Formats:     commonFormats}

	// Gemini is for parametersJsonSchema and responseJsonSchema. It ignores const.
	Gemini = Target{Name: "gemini", ObjectRoot: true, Unsupported: "const oneOf " + logicKeywords + containsKeywords}

	// Anthropic is for the input_schema of tools.
	Anthropic = Target{Name: "anthropic", ObjectRoot: true, PortableKeys: true}

	// AnthropicAnswer is for output_config.format, see
	// https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations.
	AnthropicAnswer = Target{Name: "anthropic-answer", ObjectRoot: true, ClosedObjects: true, TypeRequired: true, NoLookAround: true, PortableKeys: true,
		Unsupported: "oneOf " + numberKeywords + lengthKeywords + logicKeywords + containsKeywords, Formats: commonFormats + " uri"}

	// XAI fails on additionalProperties:false and ignores lengths.
	XAI = Target{Name: "xai", ObjectRoot: true, OpenObjects: true, Unsupported: lengthKeywords + logicKeywords + containsKeywords}

	// Kimi is for Moonshot's subset, MFJS.
	Kimi = Target{Name: "kimi", ObjectRoot: true, TypeRequired: true, NotBesideAnyOf: true, Unsupported: "oneOf " + logicKeywords + containsKeywords}

	// Grammar is for llama.cpp and Ollama, which turn the schema into a grammar: large counts are
	// unrolled and would make it too large.
	Grammar = Target{Name: "grammar", MaxBound: 500, NoLookAround: true, AnchoredPatterns: true,
		Unsupported: "multipleOf uniqueItems minProperties maxProperties " + logicKeywords + containsKeywords}
)
