// Package toto forecasts with Toto 2.0, a pretrained model of Datadog (arXiv 2605.20119), from its
// published weights. It needs neither Python nor a graphics card: the model of 4 million parameters
// forecasts a month of hours in a fraction of a second.
//
// The weights are not part of Beagle. [Open] reads them from the directory into which a user
// downloaded config.json and model.safetensors.
//
// A series is cut into patches. Each patch is scaled by the mean and the deviation of all values
// until its end, and becomes a token. The tokens pass a transformer, whose layers look either back
// in time or across series of one group. Patches without values stand for the future: all of them
// are answered at once, each with nine quantiles a value. testdata/reference says how this was
// compared with Datadog's program.
package toto
