package protocol

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// The library finds these methods by their shape and then treats the message as its own.
var magic = []string{"GetMessages", "GetPriority", "GetAutoResponse", "SystemMessage", "AutoReceiveMessage",
	"MailboxMessage", "NotInfluenceReceiveTimeout", "IgnoreDeadLetterLogging", "InfrastructureMessage"}

func TestNoMagicMethods(t *testing.T) {
	for _, m := range Messages {
		typ := reflect.TypeOf(m)
		for _, name := range magic {
			if _, has := typ.MethodByName(name); has {
				t.Errorf("%v has the method %s", typ, name)
			}
		}
	}
}

// parts are exported structs that are not messages themselves.
var parts = []string{"Asked", "Admitted", "Port", "Ports", "Refusal", "CompactOrder", "TabletCompaction", "TabletRef", "TabletCounts", "Logged", "Filed"}

func TestEveryMessageIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range Messages {
		listed[reflect.TypeOf(m).Elem().Name()] = true
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			name := spec.Name.Name
			if _, isStruct := spec.Type.(*ast.StructType); isStruct && !listed[name] && !slices.Contains(parts, name) {
				t.Errorf("%s: %s is not among Messages", f.Name(), name)
			}
			return true
		})
	}
}

// correlations are fields that name a request to its sender.
var correlations = []string{"Request", "Batch", "Scan", "Read"}

// A request between actors must know where its refusal goes and which request it is.
func TestRefusals(t *testing.T) {
	from, why := actor.NewPID("nonhost", "from"), errors.New("why")
	for _, m := range Messages {
		a, ok := m.(Answerable)
		if !ok {
			continue
		}
		v := reflect.New(reflect.TypeOf(m).Elem())
		marks := 0
		for i := range v.Elem().NumField() {
			switch f := v.Elem().Field(i); {
			case f.Type() == reflect.TypeFor[*actor.PID]():
				f.Set(reflect.ValueOf(from))
			case f.Kind() == reflect.Uint64 && slices.Contains(correlations, v.Elem().Type().Field(i).Name):
				f.SetUint(77)
				marks++
			}
		}
		to, answer := v.Interface().(Answerable).Refusal(why)
		if !to.Equal(from) || marks != 1 {
			t.Errorf("%T: refusal goes to %v, %d correlation numbers", a, to, marks)
		}
		got := reflect.ValueOf(answer).Elem()
		found := false
		for i := range got.NumField() {
			found = found || got.Field(i).Kind() == reflect.Uint64 && got.Field(i).Uint() == 77
		}
		if err, _ := got.FieldByName("Err").Interface().(error); !found || err != why {
			t.Errorf("%T is refused with %+v", a, answer)
		}
	}
}
