package llm

// Finished reports whether a Finish was sent.
func (o *Out) Finished() bool { return o.finished }
