// Package console is the terminal of the plain front end. It reads lines with the
// terminal's own editing and echo. It writes lines in order, each once, without escape
// sequences. Screen readers get Markdown in whole sentences.
//
//	Keyboard ──► Line
//	Markdown, Output ──► whole sentences and lines ──► Writer ──► terminal
package console
