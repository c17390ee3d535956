// Package llmtest helps to test code that uses models.
//
// A Fake is a scripted model for tests of all code above the adapters: the turn loop and the user
// interfaces.
//
//	model := llmtest.New(
//		llmtest.Call(llm.Part{Name: "read", Input: `{"path":"a.go"}`}),
//		llmtest.Say("It is ", "empty."),
//	)
//
// Start tests that packages do little when a program starts. Adapters are tested by
// providers/adapter/adaptertest, which needs HTTP: a test links everything that it imports, and
// most tests that import this package need no HTTP.
package llmtest

import _ "parley/providers/llmtest/heap"
