// Package murmur3 is the expert's version of the task.
package murmur3
