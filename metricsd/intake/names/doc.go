// Package names completes names: by prefix and by any substring, among millions, in
// a few milliseconds.
//
// Names are kept sorted in segments that never change. A segment is cut into blocks of
// [blockNames] neighbours, and for every sequence of one to three bytes (a gram) it
// knows in which blocks the gram occurs. A substring can only be where all its grams
// are, so a few intersected bitmaps leave a few blocks to read through. Neighbours
// resemble each other (names are hierarchical), which keeps the bitmaps small: that
// is why blocks are indexed and not names.
//
// New names go into a short list that is read through, and from time to time become
// a segment; segments of like size are merged, so that a name is copied a
// logarithmic number of times (the logarithmic method of Bentley and Saxe, 1980).
// Nobody waits for a merge.
//
// The inverted index over trigrams is the method of Russ Cox, "Regular expression
// matching with a trigram index" (2012).
//
// # Limits
//
// Upper and lower case differ. A substring whose grams are everywhere while it is
// nowhere would cost a reading of everything; after [Look] bytes the answer is cut
// short, and says so.
package names
