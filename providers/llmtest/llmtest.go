// Package llmtest helps to test code that uses models.
//
// A Fake is a model that answers from a script, for tests of everything above
// the adapters: the turn loop, the screens.
//
//	model := llmtest.New(
//		llmtest.Call(llm.Part{Name: "read", Input: `{"path":"a.go"}`}),
//		llmtest.Say("It is ", "empty."),
//	)
//
// Start tests that packages cost little when a program starts. Adapters themselves are
// tested by providers/adapter/adaptertest, which needs HTTP: tests are linked with all that
// they import, and most of those that import this package need none.
package llmtest

import _ "parley/providers/llmtest/heap"
