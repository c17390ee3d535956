// Package llmtest helps to test what speaks with models.
//
// A Fake is a model that answers from a script, for tests of everything above
// the adapters: the turn loop, the screens.
//
//	model := llmtest.New(
//		llmtest.Call(llm.Part{Name: "read", Input: `{"path":"a.go"}`}),
//		llmtest.Say("It is ", "empty."),
//	)
package llmtest
