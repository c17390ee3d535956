// Package adaptertest tests adapters.
//
// Suite is the test that every adapter passes, against a server on the loopback
// whose bytes the adapter's test describes with a Wire: an Answer, which is of no
// wire format, is encoded, and has to be the same when the adapter has read it.
//
//	Answer ──► Wire.Encode ──► server ──► adapter ──► Draft ──► the same parts
//	request of the adapter ──► Wire.Read ──► the same history
//
// SuiteCached tests what an adapter keeps of earlier requests. A Replay tests an adapter
// with recordings of services, if they are beside the repository. Requests are what an
// adapter may have to write, and Differences tells what of it differs from a vendor's JSON.
package adaptertest
