// Package llmtest helps to test what speaks with models.
//
// A Fake is a model that answers from a script, for tests of everything above
// the adapters: the turn loop, the screens.
//
//	model := llmtest.New(
//		llmtest.Call(llm.Part{Name: "read", Input: `{"path":"a.go"}`}),
//		llmtest.Say("It is ", "empty."),
//	)
//
// Suite is what every adapter passes, against a server on the loopback whose
// bytes the adapter's test describes with a Wire: one Answer, told neutrally,
// goes through the wire format and has to come out as it went in.
//
//	Answer ──► Wire.Encode ──► server ──► adapter ──► Draft ──► the same parts
//	request of the adapter ──► Wire.Read ──► the same history
//
// A Replay holds an adapter to what services really sent, where recordings of
// that lie beside the repository. Start holds packages to a quick start.
package llmtest

import _ "parley/providers/llmtest/heap"
