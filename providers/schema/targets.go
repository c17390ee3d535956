package schema

// A Target is what one kind of request does not take of JSON Schema. The zero
// Target takes everything that the canonical form holds, at any root.
type Target struct {
	Name    string
	Object  bool    // the root must be an object, without anyOf, oneOf, enum, const or not
	Drop    string  // keywords that are not understood, with blanks between; if any, then those of logic too, for less in a "not" is more
	Formats string  // values of format that are understood, with blanks between; "" is all
	Bound   float64 // the largest maxLength, maxItems, minLength or minItems; 0 is no limit
	Linear  bool    // patterns without look-around and back references
	Whole   bool    // patterns must be anchored at both ends
	Closed  bool    // objects must have additionalProperties:false
	Open    bool    // objects must not have additionalProperties:false
	Strict  bool    // every property must be required; optional ones are nullable
	Typed   bool    // every schema must have a type, or anyOf of such
	Inside  string  // what must not stand beside anyOf: "type" or "all"
	OpenAPI bool    // OpenAPI 3.0: nullable instead of type lists, enum of strings only, no empty objects
	Keys    bool    // property names must be ^[a-zA-Z0-9_.-]{1,64}$
}

// Keywords that most subsets of JSON Schema leave out.
const (
	logic   = "not if then else dependentRequired dependentSchemas patternProperties propertyNames "
	contain = "contains minContains maxContains "
	lengths = "minLength maxLength minItems maxItems minProperties maxProperties uniqueItems "
	numbers = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
)

// formats that both OpenAI's and Anthropic's constrained answers know.
const formats = "date-time time date duration email hostname ipv4 ipv6 uuid"

// The targets. Qwen, GLM, DeepSeek, MiniMax, Mistral and Groq are OpenAI.
var (
	// OpenAI is functions without strict: any schema, but an object at the root.
	OpenAI = Target{Name: "openai", Object: true}

	// OpenAIStrict is functions with strict:true and json_schema answers, see
	// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
	OpenAIStrict = Target{Name: "openai-strict", Object: true, Closed: true, Strict: true, Typed: true, Linear: true,
		Drop:    "oneOf default examples minLength maxLength minProperties maxProperties uniqueItems " + logic + contain,
		Formats: formats}

	// Gemini is parametersJsonSchema and responseJsonSchema. It ignores const.
	Gemini = Target{Name: "gemini", Object: true, Drop: "const oneOf " + logic + contain}

	// GeminiOpenAPI is parameters and responseSchema, see
	// https://ai.google.dev/api/caching#Schema. Parameters without properties
	// must be left out altogether.
	GeminiOpenAPI = Target{Name: "gemini-openapi", Object: true, OpenAPI: true, Typed: true, Inside: "all",
		Drop:    "const oneOf additionalProperties exclusiveMinimum exclusiveMaximum multipleOf uniqueItems default examples " + logic + contain,
		Formats: "enum date-time float double int32 int64"}

	// Anthropic is the input_schema of tools.
	Anthropic = Target{Name: "anthropic", Object: true, Keys: true}

	// AnthropicAnswer is output_config.format, see
	// https://docs.claude.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations.
	AnthropicAnswer = Target{Name: "anthropic-answer", Object: true, Closed: true, Typed: true, Linear: true, Keys: true,
		Drop: "oneOf " + numbers + lengths + logic + contain, Formats: formats + " uri"}

	// XAI fails on additionalProperties:false and keeps no lengths.
	XAI = Target{Name: "xai", Object: true, Open: true, Drop: lengths + logic + contain}

	// Kimi takes Moonshot's subset, MFJS.
	Kimi = Target{Name: "kimi", Object: true, Typed: true, Inside: "type", Drop: "oneOf " + logic + contain}

	// Grammar is what llama.cpp and Ollama turn into a grammar: large counts
	// unroll into one that is too large to use.
	Grammar = Target{Name: "grammar", Bound: 500, Linear: true, Whole: true,
		Drop: "multipleOf uniqueItems minProperties maxProperties " + logic + contain}
)
