// Package nearest finds the known name that somebody who wrote an unknown one most likely meant, for messages about it.
// Name is all there is. It never decides: a name that is not known stays an error.
package nearest
