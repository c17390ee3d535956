package schema

// A Target is what one kind of request does not take of JSON Schema. The zero
// Target takes everything that the canonical form holds, at any root.
type Target struct {
	Name             string
	ObjectRoot       bool    // the root must be an object, without anyOf, oneOf, enum, const or not
	Unsupported      string  // keywords that are not understood, with blanks between; if any, then those of logic too, for less in a "not" is more
	Formats          string  // values of format that are understood, with blanks between; "" is all
	MaxBound         float64 // the largest maxLength, maxItems, minLength or minItems; 0 is no limit
	NoLookAround     bool    // patterns without look-around and back references
	AnchoredPatterns bool    // patterns must be anchored at both ends
	ClosedObjects    bool    // objects must have additionalProperties:false
	OpenObjects      bool    // objects must not have additionalProperties:false
	AllRequired      bool    // every property must be required; optional ones are nullable
	TypeRequired     bool    // every schema must have a type, or anyOf of such
	NotBesideAnyOf   bool    // type, properties, required and items must not stand beside anyOf
	PortableKeys     bool    // property names must be ^[a-zA-Z0-9_.-]{1,64}$
}

// Keywords that most subsets of JSON Schema leave out.
const (
	logicKeywords    = "not if then else dependentRequired dependentSchemas patternProperties propertyNames "
	containsKeywords = "contains minContains maxContains "
	lengthKeywords   = "minLength maxLength minItems maxItems minProperties maxProperties uniqueItems "
	numberKeywords   = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
)

// commonFormats that both OpenAI's and Anthropic's constrained answers know.
const commonFormats = "date-time time date duration email hostname ipv4 ipv6 uuid"

// The targets. Qwen, GLM, DeepSeek, MiniMax, Mistral and Groq are OpenAI.
var (
	// OpenAI is functions without strict: any schema, but an object at the root.
	OpenAI = Target{Name: "openai", ObjectRoot: true}

	// OpenAIStrict is functions with strict:true and json_schema answers, see
	// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
	OpenAIStrict = Target{Name: "openai-strict", ObjectRoot: true, ClosedObjects: true, AllRequired: true, TypeRequired: true, NoLookAround: true,
		Unsupported: "oneOf default examples minLength maxLength minProperties maxProperties uniqueItems " + logicKeywords + containsKeywords,
		Formats:     commonFormats}

	// Gemini is parametersJsonSchema and responseJsonSchema. It ignores const.
	Gemini = Target{Name: "gemini", ObjectRoot: true, Unsupported: "const oneOf " + logicKeywords + containsKeywords}

	// Anthropic is the input_schema of tools.
	Anthropic = Target{Name: "anthropic", ObjectRoot: true, PortableKeys: true}

	// AnthropicAnswer is output_config.format, see
	// https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations.
	AnthropicAnswer = Target{Name: "anthropic-answer", ObjectRoot: true, ClosedObjects: true, TypeRequired: true, NoLookAround: true, PortableKeys: true,
		Unsupported: "oneOf " + numberKeywords + lengthKeywords + logicKeywords + containsKeywords, Formats: commonFormats + " uri"}

	// XAI fails on additionalProperties:false and keeps no lengths.
	XAI = Target{Name: "xai", ObjectRoot: true, OpenObjects: true, Unsupported: lengthKeywords + logicKeywords + containsKeywords}

	// Kimi takes Moonshot's subset, MFJS.
	Kimi = Target{Name: "kimi", ObjectRoot: true, TypeRequired: true, NotBesideAnyOf: true, Unsupported: "oneOf " + logicKeywords + containsKeywords}

	// Grammar is what llama.cpp and Ollama turn into a grammar: large counts
	// unroll into one that is too large to use.
	Grammar = Target{Name: "grammar", MaxBound: 500, NoLookAround: true, AnchoredPatterns: true,
		Unsupported: "multipleOf uniqueItems minProperties maxProperties " + logicKeywords + containsKeywords}
)
