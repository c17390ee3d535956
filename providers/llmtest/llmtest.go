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
// Suite is the test that every adapter passes, against a server on the loopback
// whose bytes the adapter's test describes with a Wire: an Answer, which is of no
// wire format, is encoded, and has to be the same when the adapter has read it.
//
//	Answer ──► Wire.Encode ──► server ──► adapter ──► Draft ──► the same parts
//	request of the adapter ──► Wire.Read ──► the same history
//
// A Replay tests an adapter with recordings of services, if they are beside the
// repository. Start tests that packages cost little when a program starts.
package llmtest

import _ "parley/providers/llmtest/heap"
