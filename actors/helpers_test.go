package actors_test

import (
	"testing"

	"millrace/tablet/visibility"
)

func auths(t *testing.T, tokens ...string) visibility.Authorizations {
	t.Helper()
	a, err := visibility.NewAuthorizations(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
