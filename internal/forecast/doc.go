// Package forecast says where a series will go, with an interval, and only
// where the past shows that it can. It does no I/O.
//
// Each model is tried on the series' own past. A forecast is shown only where
// its model beat the seasonal naive one there: a forecast that does not is a
// drawing. Intervals are empirical quantiles of the errors that the model made
// on that past, at the same distance.
//
// Toto 2.0, a pretrained [Model], is in package toto.
package forecast
