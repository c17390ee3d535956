// Package console is the terminal of the plain front end: lines that are read from it
// with its own editing and echo, and lines that are written to it, in order, each once
// and with not one escape sequence. What reads it out gets Markdown by whole sentences.
//
//	Keyboard ──► Line
//	Markdown, Output ──► whole sentences and lines ──► Writer ──► terminal
package console
