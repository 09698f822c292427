// Package normalizetag is the expert's version of the task.
package normalizetag
