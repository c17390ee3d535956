package demo

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed answers/*.md
var answers embed.FS

// answerText is one of the written answers.
func answerText(name string) string {
	text, err := answers.ReadFile("answers/" + name + ".md")
	if err != nil {
		panic(err) // a test asks for each
	}
	return strings.TrimSpace(string(text))
}

// tour shows what parley's screen can draw.
func (c *chat) tour() (reply, bool) {
	if !tourWords().MatchString(c.ask) {
		return reply{}, false
	}
	return reply{
		thinking: "The person wants to see something. A tour of headings, lists, a table, code and a quote shows the screen at its best.\n\nThis text is thinking: it streams like this, and folds away when the answer begins.",
		text:     answerText("tour"),
	}, true
}

var tourWords = lazy(`\b(?:show me what you can do|what can you show|demo(?:nstrate|nstration)?|tour|showcase|show (?:me )?(?:some )?markdown)\b`)

// howTo answers questions about parley itself that sound like tasks, such as
// "how do I list the models".
func (c *chat) howTo() (reply, bool) {
	if !howWords().MatchString(c.ask) {
		return reply{}, false
	}
	return c.topic()
}

var howWords = lazy(`^(?:(?:please )?(?:tell|show|explain)(?: to)? me )?(?:how (?:do|can|to|does|should|would)\b|what (?:are|is) (?:the )?(?:approval|keyboard|key ?bindings?|shortcuts?|modes?|tools?|providers?)\b|which (?:keys?|providers?|models?|tools?|modes?)\b|what (?:keys?|providers?|models?|tools?|modes?)\b|where (?:do|is|are) (?:i|my|the) (?:put|set|config|keys?)\b)`)

// topics are the questions about parley, the most particular first.
var topics = []struct {
	name, about string
	words       func() *regexp.Regexp
}{
	{"shortcuts", "keys of the keyboard", lazy(`\b(?:shortcuts?|key ?bindings?|keyboard|hot ?keys?|slash commands?|scroll|copy)\b`)},
	{"modes", "approval of tools", lazy(`\b(?:approv\w+|permissions?|ask(?:ing)? (?:me )?(?:first|before)|yolo|read-only|auto mode|modes?|allow(?:ed|ing)?|deny|denied|sandbox\w*|safe(?:ty)?)\b`)},
	{"models", "choosing a model", lazy(`\b(?:switch\w*|chang\w+|pick\w*|choos\w+|another|different|which|list|select\w*)\b.*\bmodels?\b|\beffort\b|\bmodel picker\b`)},
	{"keys", "keys of providers", lazy(`\b(?:api[ -]?keys?|keys?|tokens?|credentials?|authenticat\w+|log ?in|sign in|\w+_api_key|environment variables?|env vars?)\b`)},
	{"local", "local models", lazy(`\b(?:ollama|llama\.?cpp|vllm|lm ?studio|local(?:ly)?|self-hosted|own server)\b`)},
	{"keys", "adding a provider", lazy(`\b(?:providers?|real models?|openai|anthropic|claude|gemini|gpt|grok|glm|qwen|deepseek|minimax|kimi|mistral|groq|openrouter)\b`)},
	{"piping", "using parley in scripts", lazy(`\b(?:pip(?:e[ds]?|ing)|stdin|stdout|scripts?|scripting|non-?interactive\w*|print mode|jsonl?|command[ -]line|flags?|exit (?:code|status)|automat\w+)\b`)},
	{"tools", "the tools", lazy(`\b(?:tools?|function call\w*)\b`)},
	{"config", "the configuration", lazy(`\b(?:config\w*|settings?|options?|toml)\b`)},
	{"cost", "what it costs", lazy(`\b(?:costs?|prices?|pricing|expensive|budgets?|spend\w*|money)\b`)},
	{"sessions", "conversations", lazy(`\b(?:sessions?|conversations?|history|context|compact\w*|rewind|retry|fork|branch)\b`)},
	{"privacy", "privacy", lazy(`\b(?:priva\w+|offline|telemetry|my data|secur\w+)\b`)},
	{"parley", "parley", lazy(`\bparley\b|\bthis (?:program|app|client)\b|\bhelp\b|\bwhat can (?:you|i) (?:do|ask)\b`)},
}

// topic answers from what is written about parley.
func (c *chat) topic() (reply, bool) {
	for _, t := range topics {
		if t.words().MatchString(c.ask) {
			return reply{
				thinking: fmt.Sprintf("This is about %s. I know that part of parley.", t.about),
				text:     strings.ReplaceAll(answerText(t.name), "{keys}", c.keyRows()),
			}, true
		}
	}
	return reply{}, false
}

// keyRows are the rows of a table of keys.
func (c *chat) keyRows() string {
	var rows []string
	for _, k := range c.keys {
		rows = append(rows, fmt.Sprintf("| %s | `%s` |", k.Provider, strings.Join(k.Env, "` or `")))
	}
	return strings.Join(rows, "\n")
}

// memory answers what only the conversation itself can: it is all in the
// messages of the request.
func (c *chat) memory() (reply, bool) {
	if name := nameIn(c.ask); name != "" {
		return reply{
			thinking: "A name. It will be in the conversation, so I can look it up later.",
			text:     fmt.Sprintf("Nice to meet you, **%s**. I keep nothing myself, but your message stays in the conversation, so I can look it up.", name),
		}, true
	}
	if myName().MatchString(c.ask) {
		for i := len(c.earlier) - 1; i >= 0; i-- {
			if name := nameIn(c.earlier[i]); name != "" {
				return reply{
					thinking: "I look for a name in what was said before.",
					text:     fmt.Sprintf("You told me that your name is **%s**.", name),
				}, true
			}
		}
		return reply{thinking: "Nobody has told me a name so far.", text: "You have not told me your name in this conversation."}, true
	}
	if !askedBefore().MatchString(c.ask) {
		return reply{}, false
	}
	if len(c.earlier) == 0 {
		return reply{thinking: "There is nothing before this message.", text: "Nothing: this is the first message of our conversation."}, true
	}
	var list []string
	for i, text := range c.earlier {
		list = append(list, fmt.Sprintf("%d. %s", i+1, quoted(text)))
	}
	list = list[max(0, len(list)-10):]
	return reply{
		thinking: "The whole conversation is in the request, so I can simply look.",
		text:     "Before this you said:\n\n" + strings.Join(list, "\n"),
	}, true
}

var (
	isName      = lazy(`\b(?:my name is|my name's|call me|i am called)\s+([\p{L}][\p{L}'-]*)`)
	iAm         = lazy(`^(?:hi|hello|hey)?[,! ]*i(?:'m| am)\s+([\p{L}][\p{L}'-]*)[.!]*$`)
	myName      = lazy(`\b(?:what(?:'s| is) my name|who am i|do you (?:know|remember) (?:my name|me))\b`)
	askedBefore = lazy(`\bwhat (?:did|have) i (?:just |first |last )?(?:ask|asked|say|said|tell|told|write|wrote|written)\b|\bmy (?:first|last|previous|earlier) (?:question|message|prompt)s?\b|\bwhat (?:was|were) (?:we|i) (?:talking|asking) about\b`)
	notName     = lazy(`^(?:not|a|an|the|so|very|just|here|back|ready|done|tired|fine|ok|okay|sure|sorry|lost|stuck|happy|trying|looking|using|new)$`)
)

// nameIn is the name that text says its writer has; "" if it says none.
func nameIn(text string) string {
	for _, pattern := range []func() *regexp.Regexp{isName, iAm} {
		m := pattern().FindStringSubmatch(text)
		if m != nil && !notName().MatchString(m[1]) {
			return m[1]
		}
	}
	return ""
}
