// Package arbtag is the expert's version of the task.
package arbtag
