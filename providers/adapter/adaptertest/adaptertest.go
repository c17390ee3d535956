// Package adaptertest tests adapters.
//
// Suite is the test that every adapter passes, with a loopback server whose bytes are defined by a
// Wire. An Answer, independent of any wire format, is encoded, and must be equal after the adapter
// has decoded it.
//
//	Answer ──► Wire.Encode ──► server ──► adapter ──► Draft ──► the same parts
//	request of the adapter ──► Wire.Read ──► the same history
//
// SuiteCached tests the cache of earlier requests in an adapter. A Replay tests an adapter with
// recordings of services, if they are beside the repository. Requests are requests that an adapter
// may have to encode, and Differences compares their JSON with a vendor's.
package adaptertest
