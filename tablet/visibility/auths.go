package visibility

import (
	"errors"
	"maps"
	"slices"
)

// ErrEmptyAuthorization is the error of a set that holds an empty authorization.
var ErrEmptyAuthorization = errors.New("an authorization must not be empty")

// Authorizations is a set of tokens. The zero value is the empty set, to which only the empty label is visible. It is
// immutable and safe for concurrent use.
type Authorizations struct {
	set map[string]struct{}
}

// NewAuthorizations returns the set of the given tokens, which are neither quoted nor escaped. It refuses an empty one
// with ErrEmptyAuthorization.
func NewAuthorizations(auths ...string) (Authorizations, error) {
	set := make(map[string]struct{}, len(auths))
	for _, a := range auths {
		if a == "" {
			return Authorizations{}, ErrEmptyAuthorization
		}
		set[a] = struct{}{}
	}
	return Authorizations{set: set}, nil
}

// Tokens are the tokens of the set, sorted, no duplicates.
func (a Authorizations) Tokens() []string { return slices.Sorted(maps.Keys(a.set)) }

// Contains says whether a token, unescaped, is in the set.
func (a Authorizations) Contains(token []byte) bool {
	_, ok := a.set[string(token)]
	return ok
}
