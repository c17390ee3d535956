package tools

// Clean is text as a model may read it: without what a person would not see, so
// that nothing can be whispered to it. The notes say what was left out.
func Clean(text string) (clean string, notes []string) {
	var c cleaner
	clean = c.write([]byte(text)) + c.close()
	return clean, c.notes()
}
