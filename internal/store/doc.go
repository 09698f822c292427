// Package store keeps data that outlives a process: blobs by content, results by their inputs, and
// runs with their journals. It is files under one directory, nothing clever, so that a user can
// look at it and copy it:
//
//	format             version of this layout
//	lock               held by the process that works, with its number
//	blobs/ab/abcdef... content under its hash
//	cache/KIND/ab/...  results under the hash of their key
//	cache/KIND/shelf-* results of many candidates that share the rest of their key, a line each
//	runs/ID/run.json   a run: target, state, times
//	runs/ID/*.json     what the run saved, for example its search state
//	runs/ID/*.jsonl    what it appended, for example its events
//	tmp/               files being written
//
// A file is written beside its place, synced and renamed, so that it is whole or absent whenever
// the process ends. Journals are appended to; a line that was being written when the process
// ended is cut off the next time it is opened. Cache entries are not synced: each carries the
// hash of its content, and one that power loss damaged counts as absent.
//
// The store never deletes a run or a blob by itself. It is not a database: a process that works
// alone locks it (see [Store.Lock]), any number may read. Workers of a fleet share it without a
// lock: they name files by content or by dependencies, so that two writers of the same file do no
// harm, and only one driver at a time writes a run's own files.
package store
