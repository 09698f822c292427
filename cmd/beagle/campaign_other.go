//go:build !unix

package main

import "time"

var campaignBegan = time.Now()

// processorSeconds returns the time since the program began, where the system does not tell.
func processorSeconds() float64 { return time.Since(campaignBegan).Seconds() }
