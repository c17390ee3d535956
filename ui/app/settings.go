package app

// InConversation is the source of a value that was set in the conversation.
const InConversation = "this conversation"

// WholeSystem returns the complete system prompt with own in place of the configured text; "" keeps that.
func (o *Options) WholeSystem(own string) string {
	if o.System == nil {
		return own
	}
	return o.System(own)
}

// ToolFact is the prefix of facts about tools.
const ToolFact = "tool "
