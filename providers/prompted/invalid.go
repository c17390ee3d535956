package prompted

import (
	"parley/providers/filter"
	"parley/providers/llm"
)

// InvalidCall reports whether part is a call that cannot run: of no tool, or with an input
// that its schema does not allow.
func InvalidCall(part llm.Part, tools []llm.Tool) bool { return filter.InvalidCall(part, tools) }
